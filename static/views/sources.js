/** What an answer was given to stand on, folded in one line: web results, passages of the library, memories. */

/** @import { Given } from "../core/types.js" */

import { h, setText } from "../core/dom.js";

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
function entriesOf({ web, passages, memories }) {
  const pages = web.map(({ url, title, domain, snippet }) => {
    const address = webAddress(url);
    const name = text(title) || address?.hostname || "A page without a name";
    const link = address ? h("a", { href: address.href, target: "_blank", rel: "noopener noreferrer" }, name) : name;
    return entry("Web", link, address?.hostname ?? text(domain), snippet); // where the link really goes
  });
  const read = passages.map(({ filename, snippet }) => entry("Library", text(filename) || "A file", "", snippet));
  const known = memories.map((memory) => entry("Memory", text(memory.text), "", ""));
  return [...pages, ...read, ...known];
}

/**
 * @param {() => void} onToggle  the reader opened or closed it
 * @returns {{ node: HTMLElement, draw: (given: Given) => void }}
 */
export function createSources(onToggle) {
  const title = h("span");
  const list = h("ol", { class: "source-list" });
  const details = h("details", { class: "reasoning sources" }, h("summary", { onclick: onToggle }, title), list);
  const node = h("div", { hidden: true });
  let drawn = "";
  return {
    node,
    draw(given) {
      const { web, passages, memories } = given;
      const number = web.length + passages.length + memories.length;
      node.hidden = !number;
      if (!number && !drawn) return;
      const now = JSON.stringify([web, passages, memories]);
      if (now === drawn) return;
      drawn = now;
      setText(title, `Sources (${number})`);
      if (!details.parentElement) node.append(details);
      list.replaceChildren(...entriesOf(given));
    },
  };
}
