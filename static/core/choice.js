/** The model chosen last, kept in the browser for the next new chat. Storage that is full or forbidden only costs the keeping. */

/** @import { Route } from "./types.js" */

const KEY = "odysseus.choice";

/** @returns {Route | null} */
export function readChoice() {
  try {
    const { endpoint_id, model } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof endpoint_id === "string" && typeof model === "string" ? { endpoint_id, model } : null;
  } catch (error) {
    console.warn("The chosen model cannot be read.", error);
    return null;
  }
}

/** @param {Route | null} route  null forgets it */
export function keepChoice(route) {
  try {
    if (route) localStorage.setItem(KEY, JSON.stringify(route));
    else localStorage.removeItem(KEY);
  } catch (error) {
    console.warn("The chosen model cannot be kept.", error);
  }
}
