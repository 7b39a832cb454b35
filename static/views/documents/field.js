/** The text field of a document: as high as its text, with the numbers of its lines beside it. */

import { h } from "../../core/dom.js";

/**
 * @param {(text: string) => void} onInput
 */
export function createField(onInput) {
  const area = h("textarea", { class: "doc-text", "aria-label": "Text", dir: "auto", spellcheck: "false", autocapitalize: "off" });
  const mirror = h("div", { class: "doc-mirror", "aria-hidden": "true" }); // it gives the height, and carries the numbers
  const node = h("div", { class: "doc-sheet" }, mirror, area);
  /** @type {string[]} */
  let shown = [];

  const draw = () => {
    const lines = area.value.split("\n");
    let start = 0;
    while (start < lines.length && start < shown.length && lines[start] === shown[start]) start += 1;
    let end = 0;
    while (end < lines.length - start && end < shown.length - start && lines[lines.length - 1 - end] === shown[shown.length - 1 - end]) end += 1;
    const range = document.createRange();
    range.setStart(mirror, start);
    range.setEnd(mirror, shown.length - end);
    range.deleteContents();
    const fresh = lines.slice(start, lines.length - end).map((line) => h("div", {}, line));
    const next = mirror.childNodes[start] ?? null;
    for (const line of fresh) mirror.insertBefore(line, next);
    shown = lines;
  };
  area.addEventListener("input", () => {
    draw();
    onInput(area.value);
  });
  draw();
  return {
    node,
    area,
    /** Show this text; the caret stays with the text around it. @param {string} text */
    set(text) {
      if (area.value === text) return;
      const { selectionStart, selectionEnd } = area;
      const moved = (/** @type {number} */ at) => movedCaret(area.value, text, at);
      const [from, to] = [moved(selectionStart), moved(selectionEnd)];
      area.value = text;
      if (document.activeElement === area) area.setSelectionRange(from, to);
      draw();
    },
  };
}

/**
 * Where a place of the old text is in the new one.
 *
 * @param {string} old
 * @param {string} now
 * @param {number} at
 */
function movedCaret(old, now, at) {
  let start = 0;
  while (start < at && old[start] === now[start]) start += 1;
  return start === at ? at : Math.max(start, now.length - (old.length - at));
}
