/** One call of a tool as a row: what is done on what, how it stands, and folded under it the command and the output. */

/** @import { Row } from "../core/dom.js" */
/** @import { ToolRow } from "../core/types.js" */

import { h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { openDocument } from "../core/opened.js";
import { describe, firstError, plain, result } from "../core/toolwords.js";
import { duration } from "../core/words.js";
import { diffBox, outputBox } from "./output.js";

const TAIL_LINES = 6;
const TAIL_WIDTH = 400;
const ERROR_LENGTH = 300;
/** A call that took less is not worth a figure. */
const WORTH_TELLING = 1;

const STATES = { running: "Running", done: "Done", failed: "Failed", waiting: "Waits for you", stopped: "Stopped" };

/**
 * @param {() => void} onToggle  the reader opened or closed it
 * @returns {Row<ToolRow>}
 */
export function createAct(onToggle) {
  const sign = h("span", { class: "act-sign" });
  const what = h("span", { class: "act-what", dir: "auto" });
  const note = h("span", { class: "act-note numbers" });
  const body = h("div", { class: "act-body" });
  const details = h("details", {}, h("summary", { onclick: onToggle }, sign, what, note), body);
  const tail = h("pre", { class: "tail", hidden: true, dir: "auto" });
  const error = h("p", { class: "act-error", hidden: true, dir: "auto" });
  const open = h("button", { type: "button", class: "button small act-open", hidden: true }, "Open");
  const node = h("div", { class: "act" }, details, open, tail, error);
  /** @type {ToolRow | null} */
  let drawn = null;
  let version = -1;
  /** @type {ToolRow | null} */
  let filled = null;

  const fill = () => {
    if (!details.open || !drawn || (filled && showsSame(filled, drawn))) return;
    filled = { ...drawn };
    body.replaceChildren(...bodyOf(drawn));
  };
  details.addEventListener("toggle", fill);
  open.addEventListener("click", () => drawn && openDocument(drawn.documentId, drawn.documentTitle));

  return {
    node,
    update(row) {
      if (row === drawn && row.version === version) return;
      if (node.dataset.state !== row.state) sign.replaceChildren(icon(row.state), h("span", { class: "sr-only" }, `${STATES[row.state]}:`));
      drawn = row;
      version = row.version;
      node.dataset.state = row.state;
      drawWhat(what, row);
      setText(note, noteOf(row));
      open.hidden = row.state !== "done" || !row.documentId;
      open.setAttribute("aria-label", `Open ${row.documentTitle}`);
      drawTail(tail, row);
      error.hidden = row.state !== "failed";
      setText(error, error.hidden ? "" : firstError(row).slice(0, ERROR_LENGTH));
      fill();
    },
  };
}

/**
 * Whether two states of a row look the same when open: then its boxes stay, and where the reader is in them.
 *
 * @param {ToolRow} one
 * @param {ToolRow} other
 */
const showsSame = (one, other) =>
  one.state === other.state &&
  one.full === other.full &&
  one.output === other.output &&
  one.diff?.text === other.diff?.text &&
  (one.state !== "running" || one.tail === other.tail);

/**
 * @param {HTMLElement} node
 * @param {ToolRow} row
 */
function drawWhat(node, row) {
  const { verb, object, look } = describe(row);
  const wrapped = look === "code" ? h("code", {}, object) : h("bdi", {}, look === "quote" ? `“${object}”` : object);
  node.replaceChildren(verb, ...(object ? [" ", wrapped] : []));
}

/** @param {ToolRow} row */
function noteOf(row) {
  const time = row.elapsed < WORTH_TELLING ? "" : row.state === "running" ? duration(Math.floor(row.elapsed)).replace(".0", "") : duration(row.elapsed);
  return [row.state === "running" ? "" : result(row), time].filter(Boolean).join(" · ");
}

/**
 * The last lines of a command that is running.
 *
 * @param {HTMLElement} node
 * @param {ToolRow} row
 */
function drawTail(node, row) {
  const lines = plain(row.tail || row.message).trimEnd().split("\n").slice(-TAIL_LINES);
  const text = lines.map((line) => line.slice(0, TAIL_WIDTH)).join("\n");
  node.hidden = row.state !== "running" || !text;
  setText(node, node.hidden ? "" : text);
}

/** @param {ToolRow} row */
function bodyOf(row) {
  const command = row.full.trim() === row.command ? "" : row.full; // the open row says the short one whole
  const output = row.state === "running" ? row.tail : row.output;
  const parts = [];
  if (command) parts.push(h("p", { class: "act-label" }, "Call"), outputBox("Call", command));
  if (row.diff) parts.push(h("p", { class: "act-label", dir: "auto" }, String(row.diff.file ?? "Changes")), diffBox("Changes", row.diff.text));
  if (output) parts.push(h("p", { class: "act-label" }, "Output"), outputBox("Output", output));
  return parts.length ? parts : [h("p", { class: "quiet" }, "There is nothing more to show.")];
}
