/** Attaching files to the next message: by the button, by dropping them onto the chat, by pasting. */

/** @import { Row } from "../core/dom.js" */
/** @import { Attachment } from "../core/types.js" */

import { byId, h, reconcile, setText } from "../core/dom.js";
import { loadPart } from "../core/lazy.js";
import { set, state, watch } from "../core/state.js";
import { attach, attachments, attachmentsProblem, detach, tryAgain } from "../core/uploads.js";
import { createWaiting } from "./files.js";

/** A pasted text of more characters is offered as a file. */
const LONG = 8000;

/** No message takes more, and a field with very much in it makes the page slow: it becomes a file at once. */
const MOST = 50_000;

const button = byId("attach", HTMLButtonElement);
const chooser = byId("attach-files", HTMLInputElement);
const list = byId("files", HTMLElement);
const said = byId("files-said", HTMLElement);
const field = byId("message", HTMLTextAreaElement);
const main = byId("main", HTMLElement);
const target = h("div", { class: "drop", hidden: true }, h("p", {}, "Drop files to attach them"));

/** @type {import("../core/types.js").Chat | null} */
let shown = null;
/** @type {Map<string, Row<Attachment>>} */
let rows = new Map();

function draw() {
  const files = attachments();
  if (shown !== state.chat) {
    shown = state.chat;
    rows = new Map();
    list.replaceChildren();
  }
  list.hidden = !files.length;
  button.disabled = state.chat.sending;
  reconcile(list, rows, files, ({ key }) => key, (file) => createWaiting(file, remove, (one) => void tryAgain(one)));
  setText(said, files.length ? attachmentsProblem() || (files.length === 1 ? "1 file is attached." : `${files.length} files are attached.`) : "");
}

/** @param {Attachment} file */
function remove(file) {
  detach(file);
  field.focus();
}

/** @param {DragEvent} event */
const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;

/** @param {DragEvent} event */
function drop(event) {
  if (!hasFiles(event)) return;
  event.preventDefault();
  target.hidden = true;
  const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  const folders = items.some((item) => item.webkitGetAsEntry()?.isDirectory);
  if (folders) set({ alert: "A folder cannot be attached. Attach the files in it." });
  const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory).flatMap((item) => item.getAsFile() ?? []);
  if (state.chat.phase !== "failed" && files.length) take(files);
  field.focus();
}

/** Files go to what stands in the chat's place, if it wants them. @param {File[]} files */
function take(files) {
  if (main.dispatchEvent(new CustomEvent("files", { detail: files, cancelable: true }))) attach(files);
}

/** @param {ClipboardEvent} event */
function paste(event) {
  const files = [...(event.clipboardData?.files ?? [])];
  const { target: at } = event;
  const elsewhere = at instanceof Element && at !== field && at.closest("input, textarea:not([data-files]), dialog, nav");
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (at === field && text.length > MOST) {
    event.preventDefault();
    return void offer(text);
  }
  if (at === field && text.length > LONG) field.addEventListener("input", () => void offer(text), { once: true }); // once it stands there
  // A cell or a line copied from an office program comes as text and as a picture of it: the text is meant.
  if (!files.length || elsewhere || event.clipboardData?.types.includes("text/plain")) return;
  event.preventDefault();
  take(files);
}

/** A long text may rather be a file. @param {string} text */
async function offer(text) {
  const part = await loadPart("The offer to attach it", () => import("./pasted.js"));
  if (text.length > MOST) part?.attachLong(text);
  else part?.offerFile(text);
}

export function startAttach() {
  main.append(target);
  watch(["chat", "uploads"], draw);
  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    attach([...(chooser.files ?? [])]);
    chooser.value = "";
    field.focus();
  });
  document.addEventListener("paste", paste);
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault(); // else the browser would open the file in place of the page
    target.hidden = document.querySelector("dialog[open]") !== null;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) target.hidden = true;
  });
  document.addEventListener("drop", (event) => (target.hidden && hasFiles(event) ? event.preventDefault() : drop(event)));
}
