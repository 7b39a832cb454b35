/** The entries of what an answer was given: web results, passages of the library, memories. Loaded when one is looked at. */

/** @import { Given } from "../core/types.js" */

import { h } from "../core/dom.js";
import { settingsAddress } from "../core/route.js";
import { isReport, sourcesOf } from "../core/sources.js";

const SNIPPET = 400;

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/**
 * @param {string} kind
 * @param {HTMLElement | string} title
 * @param {string} about
 * @param {unknown} snippet
 */
function entry(kind, title, about, snippet) {
  const words = text(snippet).trim();
  const shown = words.length > SNIPPET ? `${words.slice(0, SNIPPET)}…` : words;
  const head = h("span", { class: "source-head" }, h("bdi", {}, title), h("span", { class: "quiet" }, [kind, about].filter(Boolean).join(" · ")));
  return h("li", {}, head, shown && h("p", { class: "quiet", dir: "auto" }, shown));
}

/**
 * By their numbers; the pages of a research have none, since its report cites findings.
 *
 * @param {Given} given
 */
export function sourceEntries(given) {
  const entries = sourcesOf(given).map(({ number, kind, title, about, text: words, href }) => {
    const link = href ? h("a", { href, target: "_blank", rel: "noopener noreferrer" }, title) : title;
    const node = entry(kind, link, about, words);
    if (!isReport(given)) node.value = number;
    return node;
  });
  return [h(isReport(given) ? "ul" : "ol", { class: "source-list" }, ...entries)];
}

/** @param {Given} given */
export function memoryEntries({ memories }) {
  const known = memories.map((memory) => entry(memory.type === "pinned" ? "Pinned" : "Recalled", text(memory.text), "", ""));
  return [h("ul", { class: "source-list" }, ...known), h("a", { class: "button small", href: settingsAddress("memories") }, "Edit")];
}
