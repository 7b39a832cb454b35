/** All documents, to open one, begin one, or delete one. */

/** @import { DocumentEntry } from "../../core/documents.js" */

import { createDocument, deleteDocument, listDocuments } from "../../core/documents.js";
import { h, smallButton as small } from "../../core/dom.js";
import { openDocument } from "../../core/opened.js";
import { state } from "../../core/state.js";
import { count } from "../../core/words.js";

/**
 * @param {(work: () => Promise<unknown>) => Promise<void>} attempt  tells what went wrong
 */
export function createList(attempt) {
  const search = h("input", { class: "field", type: "search", placeholder: "Find a document", "aria-label": "Find a document", autocomplete: "off" });
  const begin = small("New document", () => void attempt(async () => openDocument((await createDocument(state.chat.session)).id)), "primary");
  const list = h("ul", { class: "doc-list" });
  const node = h("div", { class: "doc-all" }, h("div", { class: "doc-find" }, search, begin), list);
  let asked = 0;

  const draw = () =>
    attempt(async () => {
      const number = (asked += 1);
      const entries = await listDocuments(search.value);
      if (number !== asked) return;
      const none = h("li", { class: "quiet" }, search.value ? "No document has this." : "There are no documents yet.");
      list.replaceChildren(...(entries.length ? entries.map(row) : [none]));
    });

  /** @param {DocumentEntry} entry */
  const row = ({ id, title, language, version, characters }) => {
    const open = h("button", { type: "button", class: "doc-open", onclick: () => openDocument(id, title) });
    open.append(h("strong", { dir: "auto" }, title), h("span", { class: "quiet" }, `${language} · version ${version} · ${count(characters)} characters`));
    const remove = small("Delete", () => {
      if (remove.dataset.sure) return void attempt(() => deleteDocument(id)).then(draw);
      remove.dataset.sure = "true";
      remove.textContent = "Delete it with all versions";
      remove.classList.add("danger");
    });
    return h("li", {}, open, remove);
  };
  search.addEventListener("input", () => void draw());
  return { node, draw };
}
