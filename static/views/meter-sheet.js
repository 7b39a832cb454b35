/** The sheet of the meter: what fills the model's window, what is kept free, and the way to what the model sees. */

/** @import { SeenContext } from "../core/types.js" */

import { ApiError } from "../core/api.js";
import { h, smallButton } from "../core/dom.js";
import { countWindow, windowNow } from "../core/gauge.js";
import { state } from "../core/state.js";
import { leftOut, limitText, partsOf } from "../core/window.js";
import { count } from "../core/words.js";

/** @param {string} name @param {number} tokens */
const row = (name, tokens) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "numbers" }, count(tokens)));

/** How many memories the newest answer drew on, in words; empty without any. */
function memories() {
  const used = state.chat.messages.findLast(({ role }) => role === "assistant")?.given.memories.length ?? 0;
  if (!used) return "";
  return used === 1 ? "1 memory was given with the last question." : `${count(used)} memories were given with the last question.`;
}

/**
 * All of the window: the rows add up to it.
 *
 * @param {SeenContext} seen
 * @param {number} draft
 */
function rowsOf(seen, draft) {
  const free = Math.max(0, seen.free - draft);
  const left = Math.max(0, seen.context_length - seen.used - draft);
  const answer = Math.min(seen.answer_room, left);
  const rest = left - answer - free;
  const kept = [row(answer < seen.answer_room ? "Left for the answer" : "Kept free for the answer", answer), rest > 0 && row("Kept free for chat templates", rest), row("Free", free)];
  return [...partsOf(seen).map(([name, tokens]) => row(name, tokens)), draft > 0 && row("What you are writing, about", draft), ...kept];
}

/**
 * @param {SeenContext} seen
 * @param {number} draft  tokens of what is being written
 */
function sheet(seen, draft) {
  const used = seen.used + draft;
  const about = seen.estimated || draft > 0 ? "about " : "";
  const bar = h("progress", { max: Math.max(seen.context_length, 1), value: Math.min(used, seen.context_length), "aria-label": "How full the window is" });
  const table = h("table", { class: "tokens" }, h("caption", { class: "sr-only" }, "Tokens by source"), h("tbody", {}, ...rowsOf(seen, draft)));
  const notes = [leftOut(seen.left_out), memories(), limitText(seen)];
  return [
    h("p", {}, h("strong", { dir: "auto" }, seen.model), h("span", { class: "quiet" }, ` · ${about}${count(used)} of ${count(seen.context_length)} tokens`)),
    bar,
    table,
    ...notes.filter(Boolean).map((note) => h("p", { class: "quiet" }, note)),
  ];
}

/**
 * Fill the panel with what is known, and again when the server has counted.
 *
 * @param {HTMLElement} panel
 * @param {number} draft
 * @param {() => void} onSeen
 */
export async function fillSheet(panel, draft, onSeen) {
  const more = smallButton("What the model sees", onSeen);
  const body = h("div", { class: "sheet" });
  panel.replaceChildren(h("p", { class: "panel-title" }, "Context"), body, more);
  more.focus({ preventScroll: true });
  const known = windowNow();
  if (known) body.replaceChildren(.../** @type {Node[]} */ (sheet(known, draft)));
  try {
    const counted = await countWindow();
    if (counted) body.replaceChildren(.../** @type {Node[]} */ (sheet(counted, draft)));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    body.append(h("p", { role: "alert" }, error.message));
  }
}
