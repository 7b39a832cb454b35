/** The dialog that shows what the model sees of the open chat: its window by source, and the messages as they are told. */

/** @import { SeenContext, SeenMessage } from "../core/types.js" */

import * as api from "../core/api.js";
import { byId, h, setText } from "../core/dom.js";
import { state } from "../core/state.js";
import { leftOut, partsOf } from "../core/window.js";
import { count } from "../core/words.js";

const dialog = byId("seen", HTMLDialogElement);
const body = byId("seen-body", HTMLElement);

/** @type {Record<string, string>} */
const ROLES = { system: "Instructions", user: "You", assistant: "Answer", tool: "Result of a tool" };

/** @param {string} name @param {number} tokens */
const figure = (name, tokens) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "numbers" }, count(tokens)));

/** @param {SeenContext} seen */
function windowOf(seen) {
  const about = seen.estimated ? "about " : "";
  const used = `${about}${count(seen.used)} of ${count(seen.context_length)} tokens`;
  const meter = h("progress", { max: Math.max(seen.context_length, 1), value: Math.min(seen.used, seen.context_length), "aria-label": "How full the window is" });
  const table = h("table", { class: "tokens" }, h("caption", { class: "sr-only" }, "Tokens by source"));
  table.append(h("tbody", {}, ...partsOf(seen).map(([name, tokens]) => figure(name, tokens)), figure("Kept free for the answer", seen.answer_room)));
  return [h("p", {}, h("strong", {}, seen.model), ` · ${used}`), meter, table, seen.left_out > 0 && h("p", { class: "quiet" }, leftOut(seen.left_out))];
}

/** @param {string} shown @param {number} chars */
const excerpt = (shown, chars) => h("pre", { class: "output", dir: "auto", tabindex: 0 }, chars > shown.length ? `${shown}…\n[${count(chars)} characters in all]` : shown);

/** @param {SeenMessage} message */
function messageOf({ role, text, chars, images, calls, given }) {
  const line = text.replace(/\s+/g, " ").trim();
  const note = [images ? `${images} ${images === 1 ? "picture" : "pictures"}` : "", calls.join(", ")].filter(Boolean).join(" · ");
  const summary = h("summary", {}, h("strong", {}, ROLES[role] ?? role), h("span", { class: "seen-line", dir: "auto" }, line || note));
  const parts = given.flatMap((part) => [h("p", { class: "act-label", dir: "auto" }, `Given: ${part.title}`), excerpt(part.text, part.chars)]);
  return h("details", { class: "seen-message" }, summary, note && h("p", { class: "quiet" }, note), ...parts, text && excerpt(text, chars));
}

/** @param {SeenContext} seen */
function draw(seen) {
  const summary = seen.summary && h("details", { class: "seen-message" }, h("summary", {}, h("strong", {}, "Summary of older messages")), excerpt(seen.summary.text, seen.summary.text.length));
  const parts = [...windowOf(seen), h("h3", {}, "Messages"), h("div", {}, summary, ...seen.messages.map(messageOf))];
  body.replaceChildren(...parts.filter((part) => part instanceof Node));
}

/** Show what the next request of the open chat would hold. */
export async function showSeen() {
  const { session } = state.chat;
  if (!session) return;
  body.replaceChildren(h("p", { class: "quiet", role: "status" }, "Counting…"));
  dialog.showModal();
  try {
    draw(await api.context(session));
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    const said = h("p", { role: "alert" });
    body.replaceChildren(said);
    setText(said, error.message);
  }
}

byId("seen-close", HTMLButtonElement).addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});
