/** A model's window as figures and words: how full it is, of what, and what happens next. Pure. */

/** @import { SeenContext, Upload } from "./types.js" */

import { count } from "./words.js";

/** @type {Record<string, string>} */
const SOURCES = {
  system: "Instructions",
  tools: "Tools",
  summary: "Summary of older messages",
  history: "Messages",
  given: "Files, passages, pages, memories",
  tool_results: "Results of tools",
};

/** From these shares of what a chat may have before older messages go, the meter warns, and says so in words. */
const WARN_FROM = 0.75;
const SAY_FROM = 0.9;

/** As the server counts a picture. */
const PICTURE_TOKENS = 1500;

/**
 * @typedef {object} Fullness
 * @property {number} percent  of the window
 * @property {boolean} about  whether it is estimated
 * @property {number} window  in tokens
 * @property {number} mark  where older messages go, in percent
 * @property {"calm" | "warn"} level
 * @property {string} comes  what happens to older messages, in words; empty while there is room
 */

/** Above how many tokens older messages go. @param {SeenContext} seen */
const limitOf = ({ summarised_from: from, used, free }) => Math.max(1, from ?? used + free);

/** What happens to them then. @param {SeenContext} seen */
const fateOf = ({ summarised_from: from }) => (from === null ? "left out" : "summarised");

/**
 * @param {SeenContext} seen
 * @param {number} used  tokens
 * @param {boolean} about  whether they are estimated
 * @returns {Fullness}
 */
export function fullness(seen, used, about) {
  const window = Math.max(1, seen.context_length);
  const limit = limitOf(seen);
  const level = used < WARN_FROM * limit ? "calm" : "warn";
  const when = used < SAY_FROM * limit ? "" : used < limit ? "soon" : "with the next one";
  const comes = when && `Older messages will be ${fateOf(seen)} for the model ${when}. They stay here.`;
  return { percent: Math.min(100, (100 * used) / window), about, window, mark: (100 * limit) / window, level, comes };
}

/** Where older messages go, as a sentence. @param {SeenContext} seen */
export const limitText = (seen) => `Above ${count(limitOf(seen))} tokens older messages are ${fateOf(seen)} for the model.`;

/** @param {number} percent */
export const percentText = (percent) => (percent > 0 && percent < 1 ? "<1 %" : `${Math.round(percent)} %`);

/** `Context: about 12 % of 32,768 tokens used`. @param {Fullness} full */
export const spokenFullness = ({ percent, about, window }) =>
  `Context: ${about ? "about " : ""}${percentText(percent).replace("<", "under ")} of ${count(window)} tokens used`;

/** The parts of a prompt that hold anything, with their tokens. @param {SeenContext} seen @returns {[name: string, tokens: number][]} */
export const partsOf = ({ sources }) => Object.entries(sources).flatMap(([name, tokens]) => (tokens > 0 ? [[SOURCES[name] ?? name, tokens]] : []));

/** What did not fit; empty when all did. @param {number} messages */
export function leftOut(messages) {
  if (!messages) return "";
  return messages === 1 ? "1 message is left out: there is no room for it." : `${count(messages)} messages are left out: there is no room for them.`;
}

/**
 * Tokens that a message of this text and these files would roughly add.
 *
 * @param {string} text
 * @param {Upload[]} files
 */
export function draftTokens(text, files) {
  const foreign = text.replace(/[\0-\x7f]+/g, "").length;
  const read = files.reduce((sum, { extraction, text_chars: chars = 0 }) => sum + (extraction === "image" ? PICTURE_TOKENS : chars / 4), 0);
  return Math.ceil((text.length - foreign) / 4 + foreign * 0.8 + read);
}
