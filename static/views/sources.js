/** What an answer was given to stand on, folded in a line: its sources, and the memories it drew on. */

/** @import { Given } from "../core/types.js" */

import { h, setText } from "../core/dom.js";
import { sourcesOf } from "../core/sources.js";

/** @typedef {"sourceEntries" | "memoryEntries"} Part */

/**
 * @param {string} name
 * @param {Part} part
 * @param {() => void} onToggle
 */
function createFold(name, part, onToggle) {
  const summary = h("summary", { onclick: onToggle });
  const list = h("div", { class: "source-entries" });
  const node = h("details", { class: `reasoning ${name.toLowerCase()}`, hidden: true }, summary, list);
  let given = /** @type {Given | null} */ (null);
  let told = "[]";

  async function fill() {
    if (!node.open || !given) return;
    try {
      const entries = await import("./given.js");
      list.replaceChildren(...entries[part](given));
    } catch (error) {
      console.warn("The sources cannot be loaded.", error);
      list.replaceChildren(h("p", {}, "This cannot be loaded. Is the server still running?"));
    }
  }
  node.addEventListener("toggle", () => void fill());
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !node.open) return;
    event.preventDefault(); // only this closes; an answer goes on
    node.open = false;
    onToggle();
    summary.focus();
  });
  return {
    node,
    /** @param {Given} now @param {unknown[]} entries */
    draw(now, entries) {
      node.hidden = !entries.length;
      const tells = JSON.stringify(entries);
      if (tells === told) return;
      told = tells;
      given = now;
      setText(summary, `${name} (${entries.length})`);
      void fill();
    },
  };
}

/**
 * @param {() => void} onToggle  the reader opened or closed it
 * @returns {{ node: HTMLElement, draw: (given: Given) => void }}
 */
export function createSources(onToggle) {
  const sources = createFold("Sources", "sourceEntries", onToggle);
  const memories = createFold("Memories", "memoryEntries", onToggle);
  const node = h("div", { class: "given", hidden: true }, sources.node, memories.node);
  return {
    node,
    draw(given) {
      const used = sourcesOf(given);
      node.hidden = !used.length && !given.memories.length;
      sources.draw(given, used);
      memories.draw(given, given.memories);
    },
  };
}
