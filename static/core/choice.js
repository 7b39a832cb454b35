/** The model chosen last, kept in the browser for the next new chat. */

/** @import { Route } from "./types.js" */

import { keepText, readValue } from "./storage.js";

const KEY = "odysseus.choice";
const WHAT = "The chosen model";

/** @returns {Route | null} */
export function readChoice() {
  const { endpoint_id, model } = readValue(KEY, {}, WHAT);
  return typeof endpoint_id === "string" && typeof model === "string" ? { endpoint_id, model } : null;
}

/** @param {Route | null} route  null forgets it */
export function keepChoice(route) {
  keepText(KEY, route ? JSON.stringify(route) : "", WHAT);
}
