/** What held an answer up or left something out of it, as one plain line each. Pure. */

/** @import { Notice } from "./types.js" */

import { count } from "./words.js";

/** @param {unknown} value */
const money = (value) => `$${(Number(value) || 0).toFixed(2)}`;

/** @param {unknown} value */
const tokens = (value) => `${count(Number(value) || 0)} tokens`;

/** @param {number} messages */
const older = (messages) => (messages === 1 ? "The oldest message was" : messages > 1 ? `The ${count(messages)} oldest messages were` : "Older text was");

/** @param {Notice} notice */
export function noticeText(notice) {
  switch (notice.type) {
    case "rounds_exhausted":
      return `Paused after ${count(Number(notice.rounds) || 0)} rounds, the most for one answer.`;
    case "budget_exceeded":
      return notice.kind === "cost"
        ? `Ended: this answer has cost ${money(notice.used)}, and ${money(notice.limit)} is the most it may.`
        : `Ended: this answer has used its ${count(Number(notice.limit) || 0)} tool calls.`;
    case "compacted":
      return `The older messages were summarised for the model, to fit its window of ${tokens(notice.context_length)}. They stay here.`;
    case "context_trimmed":
      return `${older(Number(notice.messages_before) - Number(notice.messages_after))} left out for the model: its window of ${tokens(notice.context_length)} is full.`;
    case "workspace_rejected":
      return `The folder ${notice.path || "that was wished for"} cannot be used. ${notice.reason || ""}`.trim();
    case "loop_breaker_triggered":
      return said(notice.message, "The model was going round in circles; it had to answer without tools.");
    case "intent_nudge_exhausted":
      return said(notice.message, "The model kept announcing a step without taking it.");
    case "replay_gap":
      return "What came before was too much to be shown again in full. It is all here once the answer is finished.";
    default:
      return "";
  }
}

/**
 * @param {unknown} message
 * @param {string} otherwise
 */
const said = (message, otherwise) => (typeof message === "string" && message ? message : otherwise);

/** Whether the agent could simply go on. @param {Notice} notice */
export const canContinue = ({ type }) => type === "rounds_exhausted";
