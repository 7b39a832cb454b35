/** Tables, code and formulas that are wider than the text scroll inside themselves, also by keyboard. */

import { h } from "./dom.js";

/** What is given a box of its own to scroll in. Code has one. @type {[selector: string, name: string][]} */
const BOXED = [["table", "Table"], ["math[display='block']", "Formula"]];

/** What a box is called that has to be scrolled. @type {WeakMap<Element, string>} */
const names = new WeakMap();

// A box that holds all of its content is no stop for Tab, and nothing to be told of.
const watcher = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    const wide = target.scrollWidth > target.clientWidth;
    if (wide === target.hasAttribute("tabindex")) continue;
    const marks = { tabindex: "0", role: "region", "aria-label": names.get(target) ?? "" };
    for (const [name, value] of Object.entries(marks)) {
      if (wide) target.setAttribute(name, value);
      else target.removeAttribute(name);
    }
  }
});

/**
 * Give the wide parts of finished markup their boxes.
 *
 * @param {Element} node
 */
export function boxWide(node) {
  for (const [selector, name] of BOXED) {
    for (const part of node.querySelectorAll(selector)) {
      const box = h("div", { class: "wide" });
      part.replaceWith(box);
      box.append(part);
      keepReachable(box, name);
    }
  }
  for (const pre of node.querySelectorAll("pre")) keepReachable(pre, "Code");
}

/** @param {Element} box @param {string} name */
function keepReachable(box, name) {
  names.set(box, name);
  watcher.observe(box);
}
