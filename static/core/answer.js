/** What each frame does to a live answer. Pure: plain state in, plain state changed, no document and no network. */

/** @import { Frame, Live, StreamEvent } from "./types.js" */

import { applyGiven, newGiven } from "./given.js";
import { applyWork, endWork, newWork } from "./work.js";

/**
 * @param {string} session
 * @param {string} runId
 * @param {Live["place"]} [place]
 * @returns {Live}
 */
export function newLive(session, runId, place = "") {
  return {
    session,
    runId,
    cursor: 0,
    text: "",
    thinking: "",
    blocks: [],
    work: newWork(),
    given: newGiven(),
    seenBefore: 0,
    model: "",
    endpointLabel: "",
    metrics: null,
    terminal: null,
    error: null,
    savedId: null,
    fallback: null,
    used: 0,
    gap: false,
    retry: "",
    stopping: false,
    place,
    ended: false,
    link: "open",
  };
}

/**
 * Forget what was received, to take the run from its first frame.
 *
 * @param {Live} live
 */
export function rewind(live) {
  Object.assign(live, { cursor: 0, text: "", thinking: "", blocks: [], gap: false });
  Object.assign(live.work, newWork()); // in place: the message holds it too
  Object.assign(live.given, newGiven());
}

/**
 * Apply one event of the stream and move the cursor behind it.
 *
 * @param {Live} live
 * @param {StreamEvent} event
 */
export function applyEvent(live, event) {
  if (event.data === "[DONE]") endLive(live);
  else {
    const frame = parse(event.data);
    if (event.event === "error") applyError(live, frame);
    else if (frame) applyFrame(live, frame);
  }
  const id = Number(event.id);
  if (id <= live.seenBefore) live.work.controls = []; // what the agent did to the page before this tab was there
  if (event.id && Number.isInteger(id)) live.cursor = id;
}

/** Nothing more will come. @param {Live} live */
export function endLive(live) {
  live.ended = true;
  endWork(live.work);
}

/** @param {string} data */
function parse(data) {
  try {
    return JSON.parse(data);
  } catch (error) {
    console.error("A frame is not JSON and was passed over.", error);
    return null;
  }
}

/**
 * @param {Live} live
 * @param {{ error?: string, status?: number } | null} frame
 */
function applyError(live, frame) {
  live.error = { message: frame?.error || "The answer failed.", status: frame?.status ?? null };
  endLive(live);
}

/**
 * @param {Live} live
 * @param {Frame} frame
 */
function applyFrame(live, frame) {
  live.retry = "";
  switch (frame.type) {
    case undefined:
      if (typeof frame.delta !== "string") break;
      if (frame.thinking) live.thinking += frame.delta;
      else live.text += frame.delta;
      break;
    case "block":
      live.blocks[frame.index] = { html: frame.html, open: frame.open };
      break;
    case "page_text":
      live.text = frame.text;
      live.thinking = frame.thinking;
      break;
    case "model_info":
      live.model = frame.model;
      live.endpointLabel = frame.endpoint_label;
      break;
    case "fallback":
      live.fallback = frame;
      break;
    case "retry":
      live.retry = `${frame.reason}. Trying again in ${frame.seconds} s (${frame.attempt} of ${frame.attempts})…`;
      break;
    case "usage":
      live.used = (frame.data.input_tokens ?? 0) + (frame.data.output_tokens ?? 0);
      break;
    case "metrics":
      live.metrics = frame.data;
      break;
    case "message_saved":
      live.savedId = frame.id;
      break;
    case "chat_terminal":
    case "agent_terminal":
      live.terminal = frame.data;
      break;
    default:
      live.gap ||= frame.type === "replay_gap";
      applyGiven(live.given, frame);
      applyWork(live.work, frame, live.blocks.length);
  }
}
