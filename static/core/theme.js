/** The look that was wished for: light, dark, or what the system has; and the size of the text. Kept in the browser. */

import { keepText, readText } from "./storage.js";

const WHAT = "The look";
const THEME = "odysseus.theme";
const TEXT = "odysseus.text-size";

/** The names of what is the system's own. */
const SYSTEM = ["system", "auto", "default"];
const SIZES = ["small", "large", "larger"];

/** @param {unknown} name  one that the page does not have changes nothing */
export function setTheme(name) {
  const theme = SYSTEM.includes(String(name)) ? "" : name;
  if (theme !== "" && theme !== "light" && theme !== "dark") return;
  put("theme", theme);
  keepText(THEME, theme, WHAT);
}

/** The theme that was wished for; empty is the system's. */
export const readTheme = () => document.documentElement.dataset.theme ?? "";

/** @param {string} size  small, normal, large or larger */
export function setTextSize(size) {
  const known = SIZES.includes(size) ? size : "";
  put("text", known);
  keepText(TEXT, known, WHAT);
}

/** The size of the text; empty is the usual one. */
export const readTextSize = () => document.documentElement.dataset.text ?? "";

/**
 * @param {"theme" | "text"} name
 * @param {string} value  empty takes it away
 */
function put(name, value) {
  if (value) document.documentElement.dataset[name] = value;
  else delete document.documentElement.dataset[name];
}

export function restoreTheme() {
  put("theme", readText(THEME, WHAT));
  put("text", readText(TEXT, WHAT));
}
