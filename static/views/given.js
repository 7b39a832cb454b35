/** The entries of what an answer was given: web results, passages of the library, memories. Loaded when one is looked at. */

/** @import { Given } from "../core/types.js" */

import { h } from "../core/dom.js";
import { settingsAddress } from "../core/route.js";

const SNIPPET = 400;

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/**
 * An address that may be opened, or null: only pages of the web.
 *
 * @param {unknown} value
 */
function webAddress(value) {
  const url = URL.canParse(text(value)) ? new URL(text(value)) : null;
  return url && /^https?:$/.test(url.protocol) ? url : null;
}

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

/** @param {Given} given */
export function sourcesOf({ web, passages }) {
  const pages = web.map(({ url, title, domain, snippet }) => {
    const address = webAddress(url);
    const name = text(title) || address?.hostname || "A page without a name";
    const link = address ? h("a", { href: address.href, target: "_blank", rel: "noopener noreferrer" }, name) : name;
    return entry("Web", link, address?.hostname ?? text(domain), snippet); // where the link really goes
  });
  const read = passages.map(({ filename, snippet }) => entry("Library", text(filename) || "A file", "", snippet));
  return [h("ol", { class: "source-list" }, ...pages, ...read)];
}

/** @param {Given} given */
export function memoriesOf({ memories }) {
  const known = memories.map((memory) => entry(memory.type === "pinned" ? "Pinned" : "Recalled", text(memory.text), "", ""));
  return [h("ul", { class: "source-list" }, ...known), h("a", { class: "button small", href: settingsAddress("memories") }, "Edit")];
}
