/** The composer: writing, sending, stopping, and the draft of each session. */

import { syncChat } from "../core/chat.js";
import { byId } from "../core/dom.js";
import { keepDraft, readDraft } from "../core/drafts.js";
import { enqueue, mustWait } from "../core/queue.js";
import { stopAnswer } from "../core/running.js";
import { sendMessage, wishesNow } from "../core/sending.js";
import { isLive, set, state, tell, watch } from "../core/state.js";
import { isUsed } from "../core/uses.js";
import { attachAgain, attachmentsProblem, forgetFiles, readyFiles } from "../core/uploads.js";

const form = byId("composer", HTMLFormElement);
const area = byId("message", HTMLTextAreaElement);
const sendButton = byId("send", HTMLButtonElement);
const stopButton = byId("stop", HTMLButtonElement);

/** @type {import("../core/types.js").Chat | null} */
let shown = null;
/** The chats that a message is on its way to. @type {Set<import("../core/types.js").Chat>} */
const submitting = new Set();

/** One that was left and opened again is the same chat. @param {import("../core/types.js").Chat} chat */
const isSubmitting = (chat) => [...submitting].some((one) => one === chat || (one.session !== null && one.session === chat.session));

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
  keepText();
  area.focus();
  area.setSelectionRange(text.length, text.length);
}

/** The draft is kept, but for what is to be stored nowhere. */
const keepText = () => keepDraft(state.chat.gone ? null : state.chat.session, isUsed("incognito") ? "" : area.value);

function drawButtons() {
  const { chat } = state;
  const live = isLive();
  const empty = !area.value.trim() && !readyFiles().length;
  const hadFocus = document.activeElement === stopButton || document.activeElement === sendButton;
  sendButton.hidden = live && empty;
  sendButton.setAttribute("aria-label", live ? "Send after this answer" : "Send");
  stopButton.hidden = !live;
  stopButton.disabled = !chat.live?.runId || chat.live.stopping;
  const sending = isSubmitting(chat);
  sendButton.disabled = sending || chat.phase === "failed" || empty || attachmentsProblem() !== "";
  sendButton.title = attachmentsProblem() || (live ? "Send after this answer" : "");
  area.readOnly = sending;
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
  if (attachmentsProblem() || isSubmitting(chat)) return;
  if (mustWait() && isUsed("incognito")) return set({ alert: "Send it when the answer is there: incognito, nothing is kept to wait." });
  if (mustWait()) return queue();
  submitting.add(chat);
  const sent = await sendMessage(area.value, { files: readyFiles() }).finally(() => submitting.delete(chat));
  if (sent && state.chat === chat) {
    setDraft("");
    onSent();
  } else if (sent && state.chat.session === chat.session) {
    setDraft(readDraft(chat.session)); // it was left meanwhile, and opened again: what was sent stands in it no more
    void syncChat();
  } else drawButtons();
}

/** Something else is on its way: what is written waits behind it. */
function queue() {
  const { session } = state.chat;
  const files = readyFiles();
  if (!session || (!area.value.trim() && !files.length)) return;
  enqueue(session, { text: area.value, files, wishes: wishesNow() });
  keepDraft(session, "");
  forgetFiles(session, files);
  setDraft("");
  tell("chat"); // the files have left the composer
}

/**
 * Whether Enter belongs to an input method that is composing a character. Safari says so only by the key code.
 *
 * @param {KeyboardEvent} event
 */
const composes = (event) => event.isComposing || event.keyCode === 229;

/** On touch alone there is no Shift+Enter: Enter makes a new line, the button sends. */
const isTouchOnly = () => !matchMedia("(any-pointer: fine), (any-hover: hover)").matches;

/** @param {KeyboardEvent} event */
function stopOnEscape(event) {
  if (event.key !== "Escape" || event.defaultPrevented || composes(event) || !isLive()) return;
  if (document.querySelector("dialog[open]")) return; // only the dialog closes, and the browser does that
  event.preventDefault();
  void stopAnswer();
}

/** @param {() => void} onSent */
export function startComposer(onSent) {
  watch(["chat", "live"], draw);
  if (isTouchOnly()) area.enterKeyHint = "enter";
  area.addEventListener("input", () => {
    keepText();
    grow();
    drawButtons();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || composes(event) || isTouchOnly()) return;
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
