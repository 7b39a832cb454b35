/** A Markdown checklist and a unified diff, line by line. Pure. */

const BOX = /^(\s*)(?:[-*+]|\d+[.)])\s+\[([^\]])\]\s+(.*)$/;
const HEADING = /^\s*#{1,6}\s+(.*)$/;
const BULLET = /^(\s*)(?:[-*+]|\d+[.)])\s+(.*)$/;

/** @typedef {{ text: string, level: number, state: "done" | "doing" | "todo" | "heading" | "text" }} PlanLine */

/**
 * @param {string} plan
 * @returns {PlanLine[]}
 */
export function planLines(plan) {
  return plan.split("\n").filter((line) => line.trim()).map(planLine);
}

/**
 * @param {string} line
 * @returns {PlanLine}
 */
function planLine(line) {
  const box = BOX.exec(line);
  if (box) return { text: bare(box[3]), level: levelOf(box[1]), state: stateOf(box[2]) };
  const heading = HEADING.exec(line);
  if (heading) return { text: bare(heading[1]), level: 0, state: "heading" };
  const bullet = BULLET.exec(line);
  return bullet ? { text: bare(bullet[2]), level: levelOf(bullet[1]) + 1, state: "text" } : { text: bare(line), level: 0, state: "text" };
}

/** Without the marks of Markdown. @param {string} [text] */
const bare = (text = "") => text.trim().replace(/\*\*|`/g, "");

/** @param {string} [indent] */
const levelOf = (indent = "") => Math.min(3, Math.floor(indent.replaceAll("\t", "    ").length / 2));

/** @param {string} [mark] */
const stateOf = (mark = " ") => (mark === " " ? "todo" : /x/i.test(mark) ? "done" : "doing");

/** A checklist that stands in an answer's own text; empty when there is none. @param {string} content */
export function planIn(content) {
  return content.split("\n").some((line) => BOX.test(line)) ? content : "";
}

/** @typedef {{ text: string, kind: "add" | "del" | "hunk" | "file" | "same" }} DiffLine */

/**
 * @param {string} diff
 * @returns {DiffLine[]}
 */
export function diffLines(diff) {
  const lines = diff.replace(/\n$/, "").split("\n");
  return lines.map((text, index) => ({ text, kind: isHead(lines, index) ? "file" : kindOf(text) }));
}

/**
 * Whether a line is of a file's head. A removed line may begin with `--` itself, so the head is known by its two lines.
 *
 * @param {string[]} lines
 * @param {number} index
 */
function isHead(lines, index) {
  const at = (/** @type {number} */ place, /** @type {string} */ start) => lines[place]?.startsWith(start) ?? false;
  if (at(index, "--- ")) return at(index + 1, "+++ ");
  if (at(index, "+++ ")) return at(index - 1, "--- ");
  return at(index, "diff --git ") || at(index, "index ");
}

/** @param {string} line */
function kindOf(line) {
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same";
}

/** Whether a text is a unified diff, as far as one can see. @param {string} text */
export const isDiff = (text) => /^(--- .*\n\+\+\+ |diff --git |@@ -\d)/m.test(text);
