/** What the open chat's messages may use beside the conversation, and whether they are stored. Kept for each chat. */

import { currentMode, isWebOn, keepSwitch, readSwitch } from "./modes.js";
import { ApiError } from "./api.js";
import { keepDraft } from "./drafts.js";
import { state, tell } from "./state.js";

/** @typedef {"library" | "memories" | "programs" | "incognito" | "research"} Use */

/** The switches that are off unless they were turned on. @type {ReadonlySet<Use>} */
const OFF = new Set(/** @type {const} */ (["incognito", "research"]));

/** @typedef {"" | "day" | "week" | "month" | "year"} Age */

/** @param {Use} use */
export const isUsed = (use) => (readSwitch(use) === "on") === OFF.has(use);

/**
 * @param {Use} use
 * @param {boolean} on
 */
export function setUse(use, on) {
  keepSwitch(use, on === OFF.has(use) ? "on" : "");
  if (use === "incognito" && on) keepDraft(state.chat.session, "");
  tell("chat");
}

/** How old web results may be. @returns {Age} */
export const webAge = () => /** @type {Age} */ (readSwitch("age"));

/** @param {string} age */
export function setWebAge(age) {
  keepSwitch("age", age);
  tell("chat");
}

/** What differs from the usual, as the server's fields. @returns {Record<string, string | boolean>} */
export function usesNow() {
  if (isUsed("research") && !isUsed("incognito")) return { use_research: true };
  return {
    ...(isWebOn() && { use_web: true }),
    ...(isWebOn() && webAge() && { time_filter: webAge() }),
    ...(!isUsed("library") && { use_rag: false }),
    ...(!isUsed("memories") && { no_memory: true }),
    ...(currentMode() === "agent" && !isUsed("programs") && { allow_bash: false }),
    ...(isUsed("incognito") && { incognito: true }),
  };
}

/** Whether there is a library to draw on. When the server cannot tell, the switch is of no use either. */
export async function hasLibrary() {
  try {
    const { library } = await import("./settings.js");
    const { items, mode } = await library();
    return mode !== "off" && items.length > 0;
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof TypeError)) throw error; // TypeError: its module cannot be had
    return false;
  }
}
