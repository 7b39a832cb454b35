/** The heads of the panes: names, how each answer stands, and stopping, closing or going on with one. On small screens they are tabs. */

/** @import { Pane, View } from "../core/compare.js" */
/** @import { Row } from "../core/dom.js" */
/** @import { Message } from "../core/types.js" */

import { closePane, closedPanes, isAnswering, keepPane, openPanes, stopPane } from "../core/compare.js";
import { h, reconcile, setText, smallButton } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { isWaiting, progress } from "../core/progress.js";
import { state } from "../core/state.js";
import { duration } from "../core/words.js";

/** @typedef {{ pane: Pane, view: View, shown: boolean }} Item */

/** @param {Message | undefined} message */
const liveOf = (message) => (message?.live && !message.live.ended ? message.live : null);

/** @param {View} view @param {Pane} pane */
const lastAnswer = (view, { pane }) => view.turns.at(-1)?.answers.get(pane);

/** Whether a pane's model is embedded; of a hidden one only when all of them are. @param {View} view @param {Pane} pane */
function isEmbedded({ comparison }, pane) {
  const embedded = (/** @type {string | null} */ id) => state.models.some((item) => item.endpoint_id === id && item.kind === "local");
  if (pane.endpoint_id !== null) return embedded(pane.endpoint_id);
  return comparison?.models.every(({ endpoint_id }) => embedded(endpoint_id)) ?? false;
}

/** Whether another pane has the embedded engine before this one. @param {View} view @param {Pane} pane */
function waitsForOther(view, pane) {
  const live = liveOf(lastAnswer(view, pane));
  if (!live || !isWaiting(live) || !isEmbedded(view, pane)) return false;
  return openPanes(view).some((other) => {
    const theirs = liveOf(lastAnswer(view, other));
    return other !== pane && theirs && isEmbedded(view, other) && (!isWaiting(theirs) || other.pane < pane.pane);
  });
}

/** @param {View} view @param {Pane} pane */
function statusOf(view, pane) {
  const message = lastAnswer(view, pane);
  const live = liveOf(message);
  if (live) return waitsForOther(view, pane) ? "Waits for the other model…" : progress(live, false);
  if (!message?.live && pane.running) return "Is answering elsewhere.";
  const first = message?.live?.metrics?.time_to_first_token ?? message?.metadata?.timing?.time_to_first_token;
  return typeof first === "number" ? `First words after ${duration(first)}` : "";
}

/** @param {(pane: string) => void} onShow  a pane's tab was chosen */
export function createHeads(onShow) {
  const node = h("div", { class: "compare-heads compare-grid" });
  /** @type {Map<string, Row<Item>>} */
  const rows = new Map();
  return {
    node,
    /** @param {View} view @param {string} shown */
    draw(view, shown) {
      const panes = openPanes(view);
      node.hidden = panes.length === 0;
      reconcile(node, rows, panes.map((pane) => ({ pane, view, shown: pane.pane === shown })), (item) => item.pane.pane, (item) => createHead(item, onShow));
    },
  };
}

/** The panes that were closed, each with a way back. @param {() => void} onBack  the button that had the focus goes */
export function createClosed(onBack) {
  const node = h("div", { class: "compare-closed actions", hidden: true });
  let drawn = "";
  /** @param {Pane} pane */
  const back = (pane) => {
    void closePane(pane, false);
    onBack();
  };
  return {
    node,
    /** @param {View} view */
    draw(view) {
      const panes = closedPanes(view);
      const now = JSON.stringify([view.id, panes.map(({ pane, name }) => [pane, name])]);
      node.hidden = panes.length === 0;
      if (now === drawn) return;
      drawn = now;
      node.replaceChildren(...panes.map((pane) => smallButton(`Bring back ${pane.name}`, () => back(pane))));
    },
  };
}

/**
 * @param {Item} item
 * @param {(pane: string) => void} onShow
 * @returns {Row<Item>}
 */
function createHead({ pane: first }, onShow) {
  let pane = first;
  const choose = () => {
    onShow(pane.pane);
    node.parentElement?.querySelectorAll("button.compare-name").forEach((tab) => tab.setAttribute("aria-pressed", String(tab === name)));
  };
  const title = h("span", { dir: "auto" });
  const name = h("button", { type: "button", class: "compare-name", onclick: choose }, h("span", { class: "compare-letter", "aria-hidden": "true" }, first.pane), title, icon("check"));
  const status = h("p", { class: "compare-status quiet", role: "status" });
  const stop = smallButton("Stop", () => stopPane(pane));
  const keep = smallButton("Continue in chat", () => void goOn());
  const close = h("button", { type: "button", class: "icon-button", onclick: () => void closePane(pane, true) }, icon("close"));
  const node = h("div", { class: "compare-head" }, name, close, status, h("div", { class: "actions" }, stop, keep));

  async function goOn() {
    const session = await keepPane(pane);
    if (session) location.hash = session;
  }

  return {
    node,
    update({ pane: now, view, shown }) {
      pane = now;
      setText(title, pane.name);
      name.title = pane.endpoint_label ?? "";
      name.setAttribute("aria-pressed", String(shown));
      node.dataset.best = String(view.comparison?.vote === pane.pane);
      node.dataset.pane = pane.pane;
      setText(status, statusOf(view, pane));
      const running = liveOf(lastAnswer(view, pane)) !== null;
      stop.hidden = !running;
      stop.setAttribute("aria-label", `Stop ${pane.name}`);
      keep.hidden = isAnswering(view) || !view.comparison?.revealed || !view.turns.length;
      keep.setAttribute("aria-label", `Continue in chat with ${pane.name}`);
      const label = `Close ${pane.name}`;
      close.setAttribute("aria-label", label);
      close.title = running ? "Close, and end its answer" : "Close";
      close.hidden = openPanes(view).length < 2;
    },
  };
}
