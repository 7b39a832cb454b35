/** A word on what was just done, for the status line; it goes by itself. */

import { tell } from "./state.js";

const SHOWN_MS = 2500;

let word = "";
let timer = 0;

/** What was said last, while it is fresh. */
export const said = () => word;

/** @param {string} text */
export function say(text) {
  clearTimeout(timer);
  word = text;
  tell("said");
  timer = setTimeout(() => {
    word = "";
    tell("said");
  }, SHOWN_MS);
}
