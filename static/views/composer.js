/** The composer: writing, sending, stopping, and the draft of each session. */

import { byId } from "../core/dom.js";
import { keepDraft, readDraft } from "../core/drafts.js";
import { stopAnswer } from "../core/running.js";
import { sendMessage } from "../core/sending.js";
import { isLive, state, watch } from "../core/state.js";
import { attachAgain, attachmentsProblem, readyFiles } from "../core/uploads.js";

const form = byId("composer", HTMLFormElement);
const area = byId("message", HTMLTextAreaElement);
const sendButton = byId("send", HTMLButtonElement);
const stopButton = byId("stop", HTMLButtonElement);

/** @type {import("../core/types.js").Chat | null} */
let shown = null;

/** Grow with the text; the style sheet sets the limit. */
function grow() {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

/** @param {string} text */
function setDraft(text) {
  area.value = text;
  grow();
  drawButtons();
}

/**
 * Put the text and the files of a question that was taken back before what is in the field, and go there.
 *
 * @param {string} text
 * @param {import("../core/types.js").Upload[]} [files]
 */
export function rewrite(text, files = []) {
  attachAgain(files);
  setDraft([text, area.value].filter((part) => part.trim()).join("\n\n"));
  keepDraft(state.chat.session, area.value);
  area.focus();
  area.setSelectionRange(text.length, text.length);
}

function drawButtons() {
  const { chat } = state;
  const live = isLive();
  const hadFocus = document.activeElement === stopButton || document.activeElement === sendButton;
  sendButton.hidden = live;
  stopButton.hidden = !live;
  stopButton.disabled = !chat.live?.runId || chat.live.stopping;
  sendButton.disabled = chat.sending || chat.phase === "failed" || (!area.value.trim() && !readyFiles().length) || attachmentsProblem() !== "";
  sendButton.title = attachmentsProblem();
  area.readOnly = chat.sending;
  if (hadFocus && (document.activeElement === document.body || sendButton.disabled)) area.focus();
}

function draw() {
  if (shown !== state.chat) {
    shown = state.chat;
    setDraft(readDraft(shown.session));
    if (matchMedia("(hover: hover)").matches) area.focus();
  }
  drawButtons();
}

/**
 * @param {() => void} onSent
 */
async function submit(onSent) {
  const { chat } = state;
  if (attachmentsProblem() || !(await sendMessage(area.value, { files: readyFiles() }))) return;
  if (state.chat !== chat) return;
  setDraft("");
  onSent();
}

/**
 * Whether Enter belongs to an input method that is composing a character. Safari says so only by the key code.
 *
 * @param {KeyboardEvent} event
 */
const composes = (event) => event.isComposing || event.keyCode === 229;

/** @param {KeyboardEvent} event */
function stopOnEscape(event) {
  if (event.key !== "Escape" || event.defaultPrevented || composes(event) || !isLive()) return;
  event.preventDefault();
  void stopAnswer();
}

/** @param {() => void} onSent */
export function startComposer(onSent) {
  watch(["chat", "live"], draw);
  area.addEventListener("input", () => {
    keepDraft(state.chat.session, area.value);
    grow();
    drawButtons();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || composes(event)) return;
    event.preventDefault();
    void submit(onSent);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit(onSent);
  });
  stopButton.addEventListener("click", () => void stopAnswer());
  document.addEventListener("keydown", stopOnEscape);
  addEventListener("resize", grow);
}
