/** Finding words in the open chat: in all of its messages, also those that are not loaded yet, one hit after another. */

/** @import { Chat, SearchHit } from "../core/types.js" */

import * as api from "../core/api.js";
import { showMessage } from "../core/chat.js";
import { byId, h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadStyle } from "../core/lazy.js";
import { asked, placesOf } from "../core/matching.js";
import { state, watch } from "../core/state.js";

const PAUSE_MS = 150;

const field = h("input", { class: "field", type: "search", "aria-label": "Find in this chat", placeholder: "Find in this chat", autocomplete: "off", dir: "auto" });
const count = h("span", { class: "numbers quiet", role: "status" });
const bar = h("div", { id: "find", role: "search", "aria-label": "Find in this chat", hidden: true }, field, count, button("up", "Previous", () => step(-1)), button("down", "Next", () => step(1)), button("close", "Close", hide));

/** @type {SearchHit[]} */
let hits = [];
let at = 0;
let timer = 0;
let running = new AbortController();
/** @type {Chat | null} */
let searched = null;

/**
 * @param {import("../core/icons.js").IconName} name
 * @param {string} label
 * @param {() => void} act
 */
function button(name, label, act) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: act }, icon(name));
}

function onInput() {
  clearTimeout(timer);
  running.abort();
  timer = setTimeout(() => void run(), PAUSE_MS);
}

async function run() {
  const own = (running = new AbortController());
  const { chat } = state;
  const query = asked(field.value);
  searched = chat;
  try {
    hits = query && chat.session ? await api.search(query, own.signal, chat.session) : [];
    if (own.signal.aborted) return;
    at = hits.length - 1; // the newest is nearest to what is read
    if (hits.length) go();
    else clear(query ? "Nothing was found" : "");
  } catch (error) {
    if (own.signal.aborted) return;
    if (!(error instanceof api.ApiError)) throw error;
    clear(error.message);
  }
}

/** @param {string} word */
function clear(word) {
  setText(count, word);
  mark("");
}

/** @param {number} by */
function step(by) {
  if (searched !== state.chat) return void run();
  if (!hits.length) return;
  at = (at + by + hits.length) % hits.length;
  go();
}

function go() {
  setText(count, `${at + 1} of ${hits.length}`);
  const hit = hits[at];
  if (hit) void showMessage(hit.message_id).then(() => requestAnimationFrame(() => mark(field.value)));
}

/**
 * Paint the words where they stand, without touching what is drawn.
 *
 * @param {string} query
 */
function mark(query) {
  if (!("highlights" in CSS)) return;
  const walker = document.createTreeWalker(byId("log", HTMLElement), NodeFilter.SHOW_TEXT);
  const ranges = [];
  for (let node = query.trim() && walker.nextNode(); node; node = walker.nextNode()) {
    for (const [start, end] of placesOf(node.nodeValue ?? "", query)) {
      const range = new Range();
      range.setStart(node, start);
      range.setEnd(node, end);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function hide() {
  bar.hidden = true;
  running.abort();
  clear("");
  byId("message", HTMLTextAreaElement).focus({ preventScroll: true });
}

field.addEventListener("input", onInput);
bar.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === "Escape") hide();
  else if (event.key === "Enter" && event.target === field) step(event.shiftKey ? 1 : -1);
  else return;
  event.preventDefault();
});

export async function showFind() {
  await loadStyle("palette");
  if (!bar.isConnected) {
    document.querySelector(".top")?.after(bar);
    watch(["chat"], () => searched !== state.chat && !bar.hidden && onInput());
  }
  bar.hidden = false;
  field.focus();
  field.select();
}
