/** The transcript of the open chat: its messages in order, the answer as it grows, and where the reader is in it. */

/** @import { Row } from "../core/dom.js" */
/** @import { Chat, Message } from "../core/types.js" */
/** @import { Deeds } from "./message.js" */

import { branchOff, switchTo } from "../core/branches.js";
import { loadEarlier, syncChat } from "../core/chat.js";
import { byId, h, reconcile } from "../core/dom.js";
import { ScrollKeeper } from "../core/scroll.js";
import { answerAgain, carryOut, decide, sendMessage } from "../core/sending.js";
import { isLive, state, watch } from "../core/state.js";
import { deleteMessage } from "../core/turns.js";
import { createMessage } from "./message.js";

const EARLIER_AT = 240;
/** A covered window may be given no frames though it counts as shown: then an answer is drawn so many milliseconds later. */
const LATE_MS = 300;
/** Characters of markup that are drawn in one go: some 20 ms of work on a small machine. */
const AT_ONCE = 16_000;
/** What a message's own buttons and lines weigh beside its text, in the same measure. */
const FRAME_WEIGHT = 1_000;

const area = byId("scroller", HTMLElement);
const log = byId("log", HTMLElement);
const composer = byId("message", HTMLTextAreaElement);
const earlier = byId("earlier", HTMLButtonElement);
const latest = byId("latest", HTMLButtonElement);
const problem = byId("problem", HTMLElement);

/** @type {Chat | null} */
let shown = null;
/** @type {Map<string, Row<Message>>} */
let rows = new Map();
let frame = 0;
let late = 0;
/** How many of the oldest messages are not drawn yet. */
let undrawn = 0;
let more = 0;

const keeper = new ScrollKeeper(area, byId("thread", HTMLElement), (following) => {
  latest.hidden = following;
});

/** A button that is gone takes the focus with it; the messages are the place to go on from. */
function keepFocus() {
  if (document.activeElement === document.body) (area.checkVisibility() ? area : composer).focus({ preventScroll: true });
}

/** Something is sent from the transcript: its answer is what the reader wants to see. @param {Promise<boolean>} sending */
async function begin(sending) {
  keeper.toEnd();
  const sent = await sending;
  if (sent) keeper.toEnd();
  keepFocus();
  return sent;
}

/**
 * Show another version, and keep the reader at its place and on its arrow.
 *
 * @param {string} id
 * @param {"before" | "after"} step
 */
async function showVersion(id, step) {
  keeper.release();
  if (!(await switchTo(id))) return;
  const node = rows.get(state.chat.messages.find((message) => message.id === id)?.key ?? "")?.node;
  const arrows = [...(node?.querySelectorAll(".switch button:enabled") ?? [])].filter((one) => one instanceof HTMLElement);
  (arrows.find((one) => one.dataset.step === step) ?? arrows[0])?.focus({ preventScroll: true });
  node?.scrollIntoView({ block: "nearest" });
}

/** @type {Deeds} */
const deeds = {
  again: (message) => void begin(answerAgain(message)),
  resend: (message, text) => begin(sendMessage(text, { edits: message, files: message.given.files })),
  show: (id, step) => void showVersion(id, step),
  fork: (message) => void branchOff(message),
  decide: (message, decision) => void begin(decide(message, decision)),
  answer: (text) => void begin(sendMessage(text)),
  carryOut: (plan) => begin(carryOut(plan)),
  async remove(message) {
    await deleteMessage(message);
    keepFocus();
  },
};

/**
 * Answers that were drawn in full, and so have a height that the browser remembers, need not be drawn again while they are far
 * out of sight. Two frames are what the remembering takes.
 */
function settleSoon() {
  const { chat } = state;
  const drawn = chat.messages.filter(({ key, live }) => rows.has(key) && (!live || live.ended));
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (shown !== chat || !area.checkVisibility()) return;
      for (const { key } of drawn) rows.get(key)?.node.classList.add("settled");
    }),
  );
}

/** Another width makes other heights. */
function watchWidth() {
  let width = log.clientWidth;
  new ResizeObserver(() => {
    if (log.clientWidth === width) return;
    width = log.clientWidth;
    for (const { node } of rows.values()) node.classList.remove("settled");
    settleSoon();
  }).observe(log);
}

/** @param {Message} message */
const create = (message) => createMessage(message, deeds, () => keeper.release());

/**
 * Where the drawn messages begin: what is older than any that is drawn comes in bit by bit, from the newest up, so that no long
 * page of answers holds up the reader.
 *
 * @param {Message[]} messages
 */
function beginning(messages) {
  const known = messages.findIndex(({ key }) => rows.has(key));
  let start = known < 0 ? messages.length : known;
  for (let room = AT_ONCE; start > 0 && room > 0; start -= 1) {
    const before = messages[start - 1];
    room -= FRAME_WEIGHT + (before?.html ?? before?.content ?? "").length;
  }
  return start;
}

/** Draw the messages. A chat that has just been opened starts from an empty log and at its end. */
function drawMessages() {
  const { chat } = state;
  const opened = shown !== chat;
  if (opened) {
    shown = chat;
    rows = new Map();
    log.replaceChildren();
  }
  const first = log.firstElementChild;
  undrawn = beginning(chat.messages);
  const drawn = chat.messages.slice(undrawn);
  const place = () => {
    reconcile(log, rows, drawn, (message) => message.key, create);
    drawSurroundings(chat);
  };
  if (first && drawn[0] && rows.get(drawn[0].key)?.node !== first) keeper.keepPlace(place);
  else place();
  if (opened) keeper.toEnd();
  afterDrawing(chat);
}

/** @param {Chat} chat */
function afterDrawing(chat) {
  showTarget(chat);
  settleSoon();
  clearTimeout(more);
  if (undrawn) more = setTimeout(drawMore);
}

/** The next of what is not drawn yet, unless something else has drawn it meanwhile. What is drawn is left alone. */
function drawMore() {
  const { chat } = state;
  if (!undrawn || shown !== chat) return;
  const fresh = chat.messages.slice(beginning(chat.messages), undrawn);
  undrawn -= fresh.length;
  keeper.keepPlace(() => {
    for (const message of fresh.reverse()) {
      const row = create(message);
      rows.set(message.key, row);
      row.update(message);
      log.prepend(row.node);
    }
    drawSurroundings(chat);
  });
  afterDrawing(chat);
}

/** @param {Chat} chat */
function drawSurroundings(chat) {
  document.body.dataset.empty = String(chat.phase === "ready" && chat.messages.length === 0);
  earlier.hidden = !chat.hasMore || undrawn > 0;
  earlier.disabled = chat.loadingEarlier;
  problem.hidden = chat.phase !== "failed";
  const way = chat.gone
    ? h("a", { class: "button", href: "#" }, "New chat")
    : h("button", { type: "button", class: "button", onclick: () => void syncChat() }, "Try again");
  problem.replaceChildren(h("p", {}, chat.problem), way);
  log.setAttribute("aria-busy", String(isLive() || chat.phase === "loading"));
  log.dataset.fixed = String(isLive() || chat.sending);
}

/**
 * Bring a message that was searched for into view, once it is loaded.
 *
 * @param {Chat} chat
 */
function showTarget(chat) {
  const message = chat.messages.find(({ id }) => id !== null && id === chat.target);
  const row = message && rows.get(message.key);
  if (!row) return;
  chat.target = null;
  keeper.release();
  row.node.scrollIntoView({ block: "center" });
  row.node.classList.add("found");
  row.node.addEventListener("animationend", () => row.node.classList.remove("found"), { once: true });
}

/** Draw the live answer, at most once a frame and not at all while the tab is hidden. */
function drawLiveSoon() {
  log.setAttribute("aria-busy", String(isLive()));
  if (frame || document.visibilityState === "hidden") return;
  frame = requestAnimationFrame(drawLiveNow);
  late = setTimeout(drawLiveNow, LATE_MS);
}

function drawLiveNow() {
  cancelAnimationFrame(frame);
  clearTimeout(late);
  frame = 0;
  drawLive();
}

function drawLive() {
  // The open chat may be another one by now: only its own answer is looked up, in its own rows.
  const message = state.chat.messages.find(({ live }) => live !== null && live === state.chat.live);
  if (!message || shown !== state.chat) return;
  rows.get(message.key)?.update(message);
  const question = state.chat.messages.at(-2); // its files may have been told of by now
  if (question?.given.files.length) rows.get(question.key)?.update(question);
}

/**
 * End goes to the latest and follows from then on, wherever the focus is, unless the key moves in a text or in another place.
 *
 * @param {KeyboardEvent} event
 */
function goToEnd(event) {
  if (event.key !== "End" || event.shiftKey || event.altKey || event.defaultPrevented || !(event.target instanceof Element)) return;
  const text = event.target.closest("textarea, input");
  if (event.target.closest("nav, dialog") || (text && (text !== composer || composer.value))) return;
  event.preventDefault(); // the browser's own movement is slow, and the end moves on meanwhile
  keeper.toEnd();
}

export function startTranscript() {
  watch(["chat"], drawMessages);
  watch(["live"], drawLiveSoon);
  document.addEventListener("visibilitychange", drawLiveSoon);
  watchWidth();
  document.addEventListener("keydown", goToEnd);
  area.addEventListener("scroll", () => area.scrollTop < EARLIER_AT && state.chat.hasMore && !undrawn && void loadEarlier(), { passive: true });
  earlier.addEventListener("click", () => void loadEarlier());
  latest.addEventListener("click", () => keeper.toEnd());
}

/** Go to the end and follow: the reader has sent something. */
export function followAnswer() {
  keeper.toEnd();
}
