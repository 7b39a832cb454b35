/** The offer to attach a long text that was pasted as a file. The text stays in the field until the offer is taken. Loaded when one is pasted. */

import { byId, h, setText, smallButton } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { say } from "../core/said.js";
import { state, watch } from "../core/state.js";
import { attach, attachments } from "../core/uploads.js";
import { count } from "../core/words.js";

const field = byId("message", HTMLTextAreaElement);
const said = h("p", { role: "status" });
const dismiss = h("button", { type: "button", class: "icon-button", "aria-label": "Keep it as text", title: "Keep it as text", onclick: leave }, icon("close"));
const line = h("div", { id: "pasted", class: "notice", role: "group", "aria-label": "Pasted text", hidden: true }, said, smallButton("Attach as a file", take), dismiss);

/** What was pasted, and into which chat; null while nothing is offered. @type {{ text: string, chat: import("../core/types.js").Chat } | null} */
let offered = null;

function hide() {
  offered = null;
  line.hidden = true;
  setText(said, "");
}

function leave() {
  hide();
  field.focus();
}

/** The offer ends when its text is no longer there to take out. */
function check() {
  if (offered && (state.chat !== offered.chat || state.chat.sending || !field.value.includes(offered.text))) hide();
}

/** `pasted text.txt`, and a number where one waits already. */
function freeName() {
  const names = new Set(attachments().map(({ name }) => name));
  for (let number = 1; ; number += 1) {
    const name = `pasted text${number > 1 ? ` ${number}` : ""}.txt`;
    if (!names.has(name)) return name;
  }
}

/** @param {string} text */
const attachText = (text) => attach([new File([text], freeName(), { type: "text/plain" })]);

function take() {
  const text = offered?.text ?? "";
  const at = field.value.lastIndexOf(text);
  leave();
  if (!text || at < 0) return;
  attachText(text);
  field.setSelectionRange(at, at + text.length);
  if (document.execCommand("delete")) return; // so that the browser's undo brings it back
  field.setRangeText("");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Offer it once it stands in the field. @param {string} text  as the clipboard has it */
export function offerFile(text) {
  offered = { text: text.replace(/\r\n?/g, "\n"), chat: state.chat }; // as a field has its lines
  line.hidden = false;
  setText(said, `A long text: ${count(text.length)} characters.`);
  check();
}

/** Attach what is too long for any message. @param {string} text  as the clipboard has it */
export function attachLong(text) {
  attachText(text.replace(/\r\n?/g, "\n"));
  say("Too long for a message: it is attached as a file.");
}

byId("composer", HTMLFormElement).before(line);
field.addEventListener("input", check);
watch(["chat"], check);
