/** The panel of documents beside the chat: the list of them, or one with its text, look, versions and suggestions. */

import { ApiError } from "../../core/api.js";
import { describeDocument, downloadAddress, getDocument, listSuggestions } from "../../core/documents.js";
import { byId, h, setText, smallButton as small } from "../../core/dom.js";
import { Editing } from "../../core/editing.js";
import { icon } from "../../core/icons.js";
import { closeDocument, openDocument } from "../../core/opened.js";
import { state } from "../../core/state.js";
import { createField } from "./field.js";
import { createList } from "./list.js";
import { clashPage, previewPage, suggestionsPage, versionsPage } from "./pages.js";

/** @typedef {"text" | "preview" | "versions" | "suggestions"} PageName */

const SAID = { saved: "Saved", changed: "Not saved yet", saving: "Saving…", failed: "Not saved", clash: "Conflict" };
const LANGUAGES = ["markdown", "text", "csv", "html", "python", "javascript", "json", "yaml", "sql", "bash", "css"];
/** @type {Record<PageName, string>} */
const NAMES = { text: "Text", preview: "Preview", versions: "Versions", suggestions: "Suggestions" };

/** @type {Editing | null} */
let editing = null;
/** @type {PageName} */
let page = "text";
/** @type {object | null} */
let clashShown = null;
let wanted = "";

const field = createField((text) => editing?.write(text));
const title = h("input", { class: "field doc-title", "aria-label": "Title", maxlength: 200, autocomplete: "off", dir: "auto" });
const language = h("input", { class: "field doc-language", "aria-label": "Language", list: "doc-languages", maxlength: 40, autocomplete: "off", spellcheck: "false" });
const said = h("p", { class: "doc-said", role: "status" });
const problem = h("p", { class: "doc-problem", role: "alert", hidden: true });
const download = h("a", { class: "icon-button", download: "", "aria-label": "Download", title: "Download" }, icon("save"));
const body = h("div", { class: "doc-body" });
const list = createList(attempt);
const tabs = h("div", { class: "doc-tabs", role: "group", "aria-label": "What is shown of the document" });
/** @type {[PageName, HTMLButtonElement][]} */
const buttons = /** @type {PageName[]} */ (Object.keys(NAMES)).map((name) => [name, small(NAMES[name], () => void show(name))]);
tabs.append(...buttons.map(([, button]) => button));
const all = h("button", { type: "button", class: "icon-button", "aria-label": "All documents", title: "All documents", onclick: () => openDocument("") }, icon("list"));
const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close the document", title: "Close", onclick: leave }, icon("close"));
const heading = h("h2", {}, "Documents");
const head = h("header", {}, heading, title, download, all, close);
const options = h("datalist", { id: "doc-languages" }, ...LANGUAGES.map((name) => h("option", { value: name })));
const node = h("aside", { id: "document", "aria-label": "Document" }, head, options, tabs, h("div", { class: "doc-line" }, said, problem, language), body);

/** @param {() => Promise<unknown>} work */
async function attempt(work) {
  tellProblem("");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    tellProblem(error.message);
  }
}

/** @param {string} text */
function tellProblem(text) {
  setText(problem, text);
  problem.hidden = !text;
}

function leave() {
  closeDocument();
  byId("message", HTMLTextAreaElement).focus();
}

/** What the state of the document says, where it is seen. */
function draw() {
  if (!editing) return;
  if (document.activeElement !== title) title.value = editing.title;
  if (document.activeElement !== language) language.value = editing.language;
  field.set(editing.text);
  setText(said, editing.state === "saved" ? `Saved · version ${editing.version}` : SAID[editing.state]);
  said.dataset.state = editing.state;
  if (editing.state === "failed") tellProblem(editing.problem);
  else if (problem.textContent === editing.problem) tellProblem("");
  if (editing.clash !== clashShown) {
    clashShown = editing.clash;
    void show("text");
  }
}

/** @param {PageName} name */
async function show(name) {
  const now = editing;
  if (!now) return;
  page = name;
  for (const [known, button] of buttons) button.setAttribute("aria-pressed", String(known === name));
  if (name === "text") return body.replaceChildren(now.clash ? clashPage(now) : field.node);
  await attempt(async () => {
    const again = () => void show(name);
    const made = name === "preview" ? await previewPage(now) : name === "versions" ? await versionsPage(now, attempt, again) : await suggestionsPage(now, attempt, again);
    if (page === name && editing === now) body.replaceChildren(made);
    await countSuggestions();
  });
}

async function countSuggestions() {
  if (!editing) return;
  const open = (await listSuggestions(editing.id)).filter((one) => one.state === "open").length;
  const button = buttons.find(([name]) => name === "suggestions")?.[1];
  if (button) setText(button, open ? `Suggestions (${open})` : "Suggestions");
}

/** @param {string} id */
async function open(id) {
  editing?.close();
  editing = null;
  clashShown = null;
  body.replaceChildren(h("p", { class: "quiet" }, "Opening…"));
  await attempt(async () => {
    const found = await getDocument(id);
    if (wanted !== id) return;
    editing = new Editing(found, draw);
    download.href = downloadAddress(id);
    openDocument(id, found.title);
    draw();
    await show("text");
    await editing.takeUp();
    await countSuggestions();
  });
  if (editing || wanted !== id) return;
  const why = problem.textContent ?? "";
  openDocument(""); // there is none to go with a message
  tellProblem(why);
}

/** @param {{ title?: string, language?: string }} fields */
function describe(fields) {
  const now = editing;
  if (!now) return;
  void attempt(async () => {
    const named = await describeDocument(now.id, fields);
    Object.assign(now, { title: named.title, language: named.language });
    openDocument(now.id, named.title);
    draw();
    if (page === "preview") await show(page);
  });
}

/** Bring the panel to what the state says. */
export function follow() {
  const id = state.document?.id ?? null;
  node.hidden = id === null;
  document.body.dataset.document = id === null ? "closed" : "open";
  node.dataset.view = id ? "one" : "all";
  if (id === null) {
    editing?.close();
    editing = null;
    wanted = "";
  } else if (!id) {
    editing?.close();
    editing = null;
    wanted = "";
    setText(said, "");
    tellProblem("");
    body.replaceChildren(list.node);
    void list.draw();
  } else if (id !== wanted) {
    wanted = id;
    void open(id);
  }
}

/** Others have written, or may have. @param {string} [id]  only if it is this one */
export async function lookAgain(id) {
  const now = editing;
  if (!now || (id && id !== now.id)) return;
  await now.refresh();
  await attempt(async () => (page === "text" ? countSuggestions() : show(page)));
}

document.body.append(node);
title.addEventListener("change", () => describe({ title: title.value }));
language.addEventListener("change", () => describe({ language: language.value.trim() }));
for (const input of [title, language]) input.addEventListener("keydown", (event) => event.key === "Enter" && input.blur());
node.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  event.preventDefault();
  leave();
});
addEventListener("pagehide", () => editing?.keep());
document.addEventListener("visibilitychange", () => void (document.visibilityState === "hidden" ? editing?.save() : lookAgain()));
addEventListener("online", () => void lookAgain());
