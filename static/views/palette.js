/** The palette: commands, chats and documents by a few letters of their name. */

import { ApiError } from "../core/api.js";
import { keyNames, possibleCommands } from "../core/commands.js";
import { h, setText } from "../core/dom.js";
import { fit } from "../core/fuzzy.js";
import { loadPart, loadStyle } from "../core/lazy.js";
import { openDocument } from "../core/opened.js";
import { addressOf } from "../core/route.js";
import { state } from "../core/state.js";

/** @typedef {{ title: string, kind: string, keys: string, run: () => void, score: number }} Choice */

const MOST = 60;

const field = h("input", { class: "field", type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Find a command, a chat or a document", placeholder: "Find a command, a chat or a document", autocomplete: "off", spellcheck: "false" });
const list = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands, chats and documents" });
const none = h("p", { class: "quiet", role: "status" });
const dialog = h("dialog", { id: "palette", "aria-label": "Commands" }, field, list, none);

/** @type {Choice[]} */
let shown = [];
let at = 0;
/** @type {import("../core/documents.js").DocumentEntry[]} */
let documents = [];

/** @returns {Choice[]} */
function choices() {
  const typed = field.value;
  const commands = possibleCommands()
    .filter(({ id }) => id !== "palette")
    .map(({ title, words = "", keys = "", run = () => undefined }) => ({ title, kind: "", keys, run, score: Math.max(fit(typed, title), typed.trim() ? fit(typed, words) - 300 : 0) }));
  const chats = [...state.sessions, ...state.archived].map(({ id, name }) => ({ title: name, kind: "Chat", keys: "", run: () => void (location.hash = addressOf(id)), score: fit(typed, name) - (typed.trim() ? 1 : 0) }));
  const texts = documents.map(({ id, title }) => ({ title, kind: "Document", keys: "", run: () => openDocument(id, title), score: typed.trim() ? fit(typed, title) - 2 : 0 }));
  const found = [...commands, ...chats, ...texts].filter(({ score }) => score > 0);
  return (typed.trim() ? found.toSorted((a, b) => b.score - a.score) : found).slice(0, MOST);
}

function draw() {
  shown = choices();
  at = 0;
  list.replaceChildren(...shown.map(createOption));
  setText(none, shown.length ? "" : "Nothing has this name.");
  point();
}

/**
 * @param {Choice} choice
 * @param {number} index
 */
function createOption({ title, kind, keys }, index) {
  const side = keys ? h("span", { class: "keys" }, ...keyNames(keys).map((key) => h("kbd", {}, key))) : h("span", { class: "quiet" }, kind);
  return h("li", { id: `palette-${index}`, role: "option", onclick: () => take(index), onpointermove: () => index !== at && point(index) }, h("span", { class: "palette-name", dir: "auto" }, title), side);
}

/** @param {number} [index]  the one that Enter takes */
function point(index = at) {
  list.children[at]?.removeAttribute("aria-selected");
  at = index;
  const option = list.children[at];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", option?.id ?? "");
}

/** @param {number} index */
function take(index) {
  const choice = shown[index];
  dialog.close(); // gives the focus back first: the command may move it
  choice?.run();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.isComposing || event.keyCode === 229) return;
  const last = shown.length - 1;
  /** @type {Record<string, () => void>} */
  const moves = {
    ArrowDown: () => point(at < last ? at + 1 : 0),
    ArrowUp: () => point(at > 0 ? at - 1 : last),
    PageDown: () => point(Math.min(at + 8, last)),
    PageUp: () => point(Math.max(at - 8, 0)),
    Enter: () => take(at),
  };
  const move = moves[event.key];
  if (!move || !shown.length) return;
  event.preventDefault();
  move();
}

field.addEventListener("input", draw);
field.addEventListener("keydown", onKey);
dialog.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault(); // the same keys close it
  dialog.close();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});

/** They come a moment later: what Enter would take stays the same. */
async function readDocuments() {
  const calls = await loadPart("The documents of the palette", () => import("../core/documents.js")); // not in the way of the first letters
  if (!calls) return;
  try {
    documents = await calls.listDocuments("");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    console.warn("The palette has no documents.", error);
  }
  if (!dialog.open) return;
  const { title, kind } = shown[at] ?? {};
  draw();
  const same = shown.findIndex((one) => one.title === title && one.kind === kind);
  if (same > 0) point(same);
}

export async function showPalette() {
  await loadStyle("palette");
  if (!dialog.isConnected) document.body.append(dialog);
  if (dialog.open) return;
  field.value = "";
  dialog.showModal();
  field.focus();
  draw();
  void readDocuments();
}
