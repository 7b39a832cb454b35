/**
 * The numbers in an answer's text that cite its sources, as buttons. The server has marked where the text cites
 * (`.cite`); what is no source of this answer stays as it was written. Copied text has its brackets.
 */

/** @import { Source } from "../core/types.js" */

import { h } from "../core/dom.js";
import { loadPart } from "../core/lazy.js";

const BUTTONS = ".cite button";

/**
 * Make buttons of the numbers in `node` that have a source and are none yet.
 *
 * @param {Element} node
 * @param {Map<number, Source>} sources
 * @param {() => void} onToggle
 */
export function addCitations(node, sources, onToggle) {
  for (const cite of node.querySelectorAll(".cite:not(:has(button))")) {
    const parts = (cite.textContent ?? "").split(/(\d+)/); // every second one is a number
    const known = parts.map((part) => sources.get(Number(part)));
    if (!known.every((source, at) => source || at % 2 === 0)) continue;
    cite.replaceChildren(...parts.map((part, at) => (at % 2 && known[at] ? button(known[at], onToggle) : h("i", { "aria-hidden": "true" }, part))));
  }
}

/**
 * @param {Source} source
 * @param {() => void} onToggle
 */
function button(source, onToggle) {
  const label = `Source ${source.number}: ${source.title}`;
  const node = h("button", { type: "button", "aria-label": label, "aria-haspopup": "dialog" }, h("span", {}, String(source.number)));
  node.addEventListener("click", async () => {
    onToggle();
    const part = await loadPart("The source", () => import("./source.js"));
    await part?.showSource(node, source);
  });
  return node;
}

/**
 * Draw an element again and leave the focus on its button, when it is on one.
 *
 * @param {Element} node
 * @param {() => void} draw
 */
export function keepFocus(node, draw) {
  if (!node.contains(document.activeElement)) return draw();
  const at = [...node.querySelectorAll(BUTTONS)].findIndex((one) => one === document.activeElement);
  draw();
  const again = node.querySelectorAll(BUTTONS)[at];
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}
