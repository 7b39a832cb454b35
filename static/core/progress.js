/** What the status line says about a live answer: how it stands, without figures that move. Pure. */

/** @import { Live } from "./types.js" */

import { doing } from "./research.js";
import { result, spoken } from "./toolwords.js";

/**
 * @param {Live} live
 * @param {boolean} loading  the model is being loaded
 */
export function progress(live, loading) {
  if (live.ended) return ended(live);
  if (live.stopping) return "Stopping…";
  if (live.link === "lost") return "The connection was lost. Trying again…";
  if (live.link === "queued") return "Paused here: many tabs are streaming. Click to go on.";
  if (live.retry) return live.retry;
  if (isSilent(live)) return ofRows(live);
  if (live.blocks.length || live.text) return "Answering…";
  if (live.given.research) return doing({ ...live.given.research, title: "" });
  if (live.thinking) return "Thinking…";
  return loading ? "Loading the model…" : "Waiting for the answer…";
}

/** Whether a row is the last thing there is, with no text behind it. @param {Live} live */
function isSilent({ work, blocks }) {
  const row = work.rows.at(-1);
  return row !== undefined && blocks.length <= row.block;
}

/** Whether the reader sees nothing move: the model has the word and has not said anything yet. @param {Live} live */
export function isWaiting(live) {
  if (live.ended) return false;
  if (live.work.rows.some(({ state }) => state === "running")) return false;
  return live.work.rows.length ? isSilent(live) : !live.blocks.length;
}

/** @param {Live} live */
function ofRows({ work }) {
  const running = work.rows.filter(({ state }) => state === "running");
  if (running.length > 1) return `${running.length} tools are at work…`;
  if (running[0]) return `${spoken(running[0])}…`;
  const last = work.rows.at(-1);
  if (!last) return "";
  const end = last.state === "failed" ? result(last) : "";
  return end && end !== "failed" ? `${spoken(last)}: ${end}.` : `${spoken(last)}.`;
}

/** @param {Live} live */
function ended(live) {
  const status = live.terminal?.status;
  if (status === "stopped") return "Stopped.";
  if (live.error || (status && status !== "completed")) return live.text ? "The answer ended early." : "No answer came.";
  if (live.work.ask?.state !== "pending") return "Answer finished.";
  return live.work.ask.kind === "approval" ? "Your decision is needed." : "A question for you.";
}
