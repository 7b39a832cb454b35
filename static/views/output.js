/** What a tool gave or will do, as plain text that scrolls in its own box; a diff has its lines marked. Never markup. */

import { diffLines, isDiff } from "../core/checklist.js";
import { h } from "../core/dom.js";
import { plain } from "../core/toolwords.js";

/** More than this in one box would make the page slow. */
const MOST = 200_000;
const MOST_LINES = 3000;

/**
 * @param {string} label  for those who cannot see it
 * @param {string} text
 */
export function outputBox(label, text) {
  const shown = plain(text);
  const whole = shown.length > MOST ? `${shown.slice(0, MOST)}\n[… the page shows no more of this …]` : shown;
  return box(label, "output", whole);
}

/**
 * @param {string} label
 * @param {string} text  a unified diff
 */
export function diffBox(label, text) {
  const lines = diffLines(text);
  const rows = lines.slice(0, MOST_LINES).map((line) => h("span", { class: `line ${line.kind}` }, `${line.text}\n`));
  const rest = lines.length > MOST_LINES && h("span", { class: "line hunk" }, `[… ${lines.length - MOST_LINES} lines more …]\n`);
  return box(label, "output diff", ...rows, rest);
}

/**
 * The whole of what will happen, however long: nothing is left out of what one decides on.
 *
 * @param {string} label
 * @param {string} text
 */
export function actionBox(label, text) {
  if (!isDiff(text)) return box(label, "output", text);
  const rows = diffLines(text).map((line) => h("span", { class: `line ${line.kind}` }, `${line.text}\n`));
  return box(label, "output diff", ...rows);
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {...import("../core/dom.js").Child} content
 */
function box(label, kind, ...content) {
  const text = h("code", { dir: "auto" }, ...content);
  return h("pre", { class: kind, tabindex: 0, role: "region", "aria-label": label }, text);
}
