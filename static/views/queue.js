/** The messages that wait for the end of an answer: a list above the composer, each to send now, to edit or to remove. */

/** @import { Row } from "../core/dom.js" */
/** @import { Queued } from "../core/queue.js" */

import { byId, h, reconcile, setText, smallButton as small } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadStyle } from "../core/lazy.js";
import { dequeue, hold, readQueue } from "../core/queue.js";
import { sendNow } from "../core/queueing.js";
import { isLive, state, watch } from "../core/state.js";

/** @typedef {(text: string, files: import("../core/types.js").Upload[]) => void} Rewrite */

const title = h("h2", { class: "queue-title" });
const list = h("ol");
const node = h("section", { id: "queue", "aria-label": "Messages that wait", hidden: true }, title, list);
/** @type {Map<string, Row<Queued>>} */
const rows = new Map();

/** A button that is gone takes the focus with it. */
function keepFocus() {
  if (document.activeElement === document.body) byId("message", HTMLTextAreaElement).focus();
}

/** @param {string} id */
function takeOut(id) {
  const { session } = state.chat;
  const item = session && dequeue(session, id);
  keepFocus();
  return item || null;
}

/**
 * @param {Queued} item
 * @param {Rewrite} rewrite
 * @returns {Row<Queued>}
 */
function createRow(item, rewrite) {
  const { id } = item;
  const text = h("span", { class: "queue-text", dir: "auto" });
  const files = h("span", { class: "quiet" });
  const go = small("Send now", () => {
    sendNow(id);
    keepFocus();
  });
  const edit = () => {
    const taken = takeOut(id);
    if (taken) rewrite(taken.text, taken.files);
  };
  const remove = h("button", { type: "button", class: "icon-button", "aria-label": "Remove", title: "Remove", onclick: () => takeOut(id) }, icon("bin"));
  return {
    node: h("li", {}, h("div", { class: "queue-words" }, text, files), h("div", { class: "queue-ways" }, go, small("Edit", edit), remove)),
    update(now) {
      setText(text, now.text);
      setText(files, now.files.length ? now.files.map(({ name }) => name).join(", ") : "");
      go.title = isLive() ? "Stops the answer and sends this" : "";
    },
  };
}

/** @param {Rewrite} rewrite */
function draw(rewrite) {
  const items = readQueue(state.chat.session);
  node.hidden = !items.length;
  const why = hold();
  setText(title, why || (items.length === 1 ? "Sent when the answer is finished" : "Sent one by one when the answer is finished"));
  title.dataset.tone = why ? "bad" : "quiet";
  reconcile(list, rows, items, ({ id }) => id, (item) => createRow(item, rewrite));
}

/**
 * Show the queue of the open chat from now on.
 *
 * @param {Rewrite} rewrite  takes a message back into the composer
 */
export async function showQueue(rewrite) {
  await loadStyle("queue");
  title.setAttribute("role", "status");
  byId("composer", HTMLFormElement).before(node);
  watch(["chat", "queue"], () => draw(rewrite));
}
