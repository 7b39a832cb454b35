/** The way to the documents: the panel comes when one is first opened. Also the chip that says what goes with a message. */

import { byId, h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadPart, loadStyle } from "../core/lazy.js";
import { closeDocument, giveDocument, lastDocument, openDocument } from "../core/opened.js";
import { state, watch } from "../core/state.js";
import { hearTabs } from "../core/tabs.js";

/** Where the panel has a place of its own beside the chat. */
const WIDE = "(min-width: 1000px)";

/** @type {typeof import("./documents/panel.js") | null} */
let panel = null;

const name = h("bdi");
const chip = h("p", { id: "document-chip", hidden: true }, icon("file"), h("span", {}, "With ", name));
chip.append(h("button", { type: "button", class: "icon-button", "aria-label": "Send without the document", title: "Send without it", onclick: () => giveDocument(false) }, icon("close")));

async function draw() {
  const opened = state.document;
  const given = opened?.id && opened.given && opened.title ? opened.title : "";
  chip.hidden = !given;
  setText(name, given);
  if (!opened && !panel) return;
  const parts = await loadPart("The documents", () => Promise.all([import("./documents/panel.js"), loadStyle("documents")]));
  if (!parts) return closeDocument();
  [panel] = parts;
  panel.follow();
}

/** The agent has written: show it where there is room, and bring it up to date where it is open. @param {string} id @param {string} title */
export function documentWritten(id, title) {
  if (state.document?.id === id) void panel?.lookAgain(id);
  else if (!state.document && matchMedia(WIDE).matches) openDocument(id, title);
}

/** The list of all documents. */
export const showDocuments = () => openDocument("");

export function startDocuments() {
  byId("message", HTMLTextAreaElement).before(chip);
  byId("documents-open", HTMLButtonElement).addEventListener("click", showDocuments);
  const last = lastDocument();
  if (last) openDocument(last);
  watch(["document"], () => void draw());
  hearTabs((news) => news.kind === "document" && void panel?.lookAgain(news.id));
}
