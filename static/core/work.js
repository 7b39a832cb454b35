/** What an agent did in one answer: rows, notices, pictures, plan and question, from frames or from the history. Pure. */

/** @import { Ask, Frame, Notice, Option, Terminal, ToolRow, Work } from "./types.js" */

const NOTICES = new Set(["rounds_exhausted", "budget_exceeded", "loop_breaker_triggered", "intent_nudge_exhausted", "workspace_rejected", "compacted", "context_trimmed", "replay_gap"]);
const STOPPED = 130;
/** Characters of a call that stand in its row; the whole of it is folded under it. */
const SHOWN = 240;

/** @returns {Work} */
export const newWork = () => ({ rows: [], notices: [], images: [], plan: "", ask: null, approval: null, controls: [] });

/** Whatever came, as text. @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value));

/** @param {unknown} value */
const number = (value, otherwise = 0) => (typeof value === "number" && Number.isFinite(value) ? value : otherwise);

/** @type {(value: unknown) => any} */
const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** @param {unknown} value */
const list = (value) => (Array.isArray(value) ? value : []);

/**
 * Apply a frame that tells of the agent. Others are passed over.
 *
 * @param {Work} work
 * @param {Frame} given
 * @param {number} blocks  how many blocks of the answer stand before it
 */
export function applyWork(work, given, blocks) {
  const frame = /** @type {any} */ (given); // the server's word for its shape is not taken
  if (NOTICES.has(frame.type)) work.notices.push(noticeOf(frame, blocks));
  switch (frame.type) {
    case "tool_start":
      return open(rowOf(work, frame, blocks), frame);
    case "tool_progress":
      return go(rowOf(work, frame, blocks), frame);
    case "tool_output":
      return close(rowOf(work, frame, blocks), frame);
    case "ask_user":
      work.ask = askOf(frame.data);
      break;
    case "tool_approval_resolved":
      work.approval = frame;
      break;
    case "generated_image":
      work.images.push(object(frame));
      break;
    case "plan_update":
      work.plan = text(object(frame.data).plan);
      break;
    case "doc_update":
    case "doc_suggestions":
      work.controls.push({ ui_event: "document_written", doc_id: text(frame.doc_id), title: text(frame.title) });
      break;
    case "ui_control":
      work.controls.push(object(frame.data));
      break;
  }
}

/** The run is over: a row that got no end gets one here. @param {Work} work */
export function endWork(work) {
  for (const row of work.rows) {
    if (row.state === "running") close(row, { exit_code: STOPPED, output: "No result came.", elapsed: row.elapsed });
  }
}

/**
 * The work of a stored answer.
 *
 * @param {Terminal | null} metadata
 * @returns {Work}
 */
export function storedWork(metadata) {
  const work = newWork();
  if (!metadata) return work;
  for (const event of list(metadata.tool_events).map(object)) {
    const row = newRow(event, number(event.block, Infinity));
    work.rows.push(row);
    close(row, event);
  }
  const notices = list(metadata.notices).map(object);
  work.notices = notices.filter(({ type }) => NOTICES.has(type)).map((notice) => noticeOf(notice, number(notice.block, Infinity)));
  work.images = list(metadata.images).map(object);
  work.plan = text(metadata.plan);
  work.ask = metadata.ask_user ? askOf(metadata.ask_user) : null;
  work.approval = metadata.approval ?? null;
  return work;
}

/**
 * What the history says later of a card: it may have been answered elsewhere, or have expired.
 *
 * @param {Work} work
 * @param {Terminal | null} metadata
 */
export function refreshAsk(work, metadata) {
  const now = metadata?.ask_user ? askOf(metadata.ask_user) : null;
  if (now && work.ask?.id === now.id) work.ask.state = now.state;
  else if (now) work.ask = now;
}

/**
 * @param {any} frame
 * @param {number} block
 * @returns {Notice}
 */
const noticeOf = (frame, block) => ({ ...frame, ...object(frame.data), block, round: number(frame.round, Infinity) });

/**
 * The row of a call, made when its beginning was lost.
 *
 * @param {Work} work
 * @param {any} frame
 * @param {number} blocks
 */
function rowOf(work, frame, blocks) {
  const known = work.rows.findLast(({ callId, round }) => callId === text(frame.call_id) && round === number(frame.round));
  if (known) return known;
  const row = newRow(frame, blocks);
  work.rows.push(row);
  return row;
}

/**
 * @param {any} frame
 * @param {number} block
 * @returns {ToolRow}
 */
function newRow(frame, block) {
  const extras = { diff: null, documentTitle: "", documentId: "", imageUrl: "" };
  const [callId, tool, round] = [text(frame.call_id), text(frame.tool), number(frame.round)];
  return { callId, tool, round, block, state: "running", command: "", full: "", message: "", tail: "", output: "", exitCode: null, elapsed: 0, ...extras, version: 0 };
}

/**
 * @param {ToolRow} row
 * @param {any} frame
 */
function open(row, frame) {
  row.version += 1;
  row.tool = text(frame.tool) || row.tool;
  row.full = text(frame.full_command) || text(frame.command);
  row.command = text(frame.command).slice(0, SHOWN);
}

/**
 * @param {ToolRow} row
 * @param {any} frame
 */
function go(row, frame) {
  if (row.state !== "running") return;
  row.version += 1;
  row.message = text(frame.message);
  row.elapsed = number(frame.elapsed, row.elapsed);
  row.tail = text(frame.tail) || row.tail;
}

/**
 * @param {ToolRow} row
 * @param {any} frame
 */
function close(row, frame) {
  const code = frame.exit_code;
  row.version += 1;
  row.state = code === null ? "waiting" : code === STOPPED ? "stopped" : code ? "failed" : "done";
  row.exitCode = typeof code === "number" ? code : null;
  if (!row.full) open(row, frame); // its beginning was lost
  row.output = text(frame.output);
  row.elapsed = number(frame.elapsed, row.elapsed);
  row.diff = frame.diff && typeof object(frame.diff).text === "string" ? frame.diff : null;
  row.documentTitle = text(frame.document_title);
  row.documentId = text(frame.doc_id);
  row.imageUrl = text(frame.image_url);
}

/**
 * @param {unknown} given
 * @returns {Ask}
 */
function askOf(given) {
  const data = object(given);
  const action = object(data.action);
  const approval = data.kind === "tool_approval";
  return {
    kind: approval ? "approval" : "question",
    id: text(data.approval_id),
    question: text(data.question),
    description: text(data.description),
    options: list(data.options).map(optionOf).filter(({ label }) => label),
    multi: data.multi === true,
    tool: text(action.tool),
    content: text(action.content),
    effects: list(action.effects).map(text),
    workspace: text(action.workspace),
    expiresAt: Date.parse(text(data.expires_at)) || 0,
    state: approval ? data.state ?? "pending" : "pending",
    problem: "",
  };
}

/**
 * @param {unknown} given
 * @returns {Option}
 */
function optionOf(given) {
  if (typeof given === "string") return { label: given, value: given, description: "" };
  const { label, value, description } = object(given);
  return { label: text(label), value: text(value), description: text(description) };
}
