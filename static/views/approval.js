/** The card that asks whether a call may be made: the whole of what will happen, and the decision. */

/** @import { Ask, Decision } from "../core/types.js" */

import { h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/toolwords.js";
import { duration } from "../core/words.js";
import { actionBox } from "./output.js";

/** @type {Record<string, string>} */
const EFFECTS = {
  read: "reads",
  write: "changes files",
  execute: "runs a program",
  network: "uses the network",
  private: "touches what is private",
  destructive: "removes or overwrites",
};

/** @type {Record<string, string>} */
const ENDS = {
  approved: "You approved this.",
  denied: "You denied this.",
  expired: "The time to decide is over. Ask again to have it done.",
  retired: "This is no longer waiting for a decision.",
};

/** @type {[Decision, string][]} */
const BUTTONS = [
  ["approve", "Approve"],
  ["approve_task", "Approve for this task"],
  ["deny", "Deny"],
];

const SECOND = 1000;

/** @param {(decision: Decision) => void} onDecide */
export function createApproval(onDecide) {
  const question = h("strong", { dir: "auto" });
  const description = h("p", { dir: "auto" });
  const facts = h("dl");
  const action = h("div");
  const actions = h("div", { class: "actions" });
  const left = h("p", { class: "quiet numbers left" });
  const end = h("p", { class: "card-end", role: "status" });
  const head = h("p", { class: "card-head" }, icon("shield"), question);
  const what = h("details", { class: "what", open: true }, h("summary", {}, "What was asked"), h("div", { class: "what-body" }, description, action, facts));
  const node = h("section", { class: "card approval", tabindex: -1, role: "group", "aria-label": "Approval" }, head, what, actions, left, end);
  let drawn = "";
  let timer = 0;
  /** @type {Ask | null} */
  let ask = null;

  const tick = () => {
    clearTimeout(timer);
    if (!ask || ask.state !== "pending") return;
    const ms = ask.expiresAt ? ask.expiresAt - Date.now() : Infinity;
    if (ms <= 0) {
      ask.state = "expired";
      return state();
    }
    setText(left, Number.isFinite(ms) ? `${timeLeft(ms)} left to decide.` : "");
    timer = setTimeout(tick, SECOND);
  };
  const state = () => {
    if (!ask) return;
    const hadFocus = actions.contains(document.activeElement);
    const open = ask.state === "pending";
    if (open || node.dataset.state !== ask.state) what.open = open; // what is decided is folded, once
    node.dataset.state = ask.state;
    actions.hidden = left.hidden = !open;
    const decided = ask.state === "approved" || ask.state === "denied"; // elsewhere, when this tab was refused
    setText(end, open ? "" : (!decided && ask.problem) || (ENDS[ask.state] ?? "This is no longer waiting."));
    if (hadFocus && !open) node.focus({ preventScroll: true });
    tick();
  };
  return {
    node,
    /**
     * @param {Ask} now
     * @param {boolean} busy  a decision is on its way
     */
    draw(now, busy) {
      ask = now;
      if (drawn !== now.id + now.content) {
        drawn = now.id + now.content;
        setText(question, now.question || "May this be done?");
        setText(description, now.description);
        description.hidden = !now.description;
        facts.replaceChildren(...factsOf(now));
        action.replaceChildren(actionBox("What will happen", visible(now.content)));
        actions.replaceChildren(...buttonsOf(now, onDecide));
      }
      for (const button of actions.querySelectorAll("button")) button.disabled = busy;
      state();
    },
  };
}

/** @param {number} ms */
const timeLeft = (ms) => (ms < 60 * SECOND ? `${Math.ceil(ms / SECOND)} s` : duration(60 * Math.floor(ms / SECOND / 60)).replace(" 0 s", ""));

/** @param {Ask} ask */
function factsOf({ tool, effects, workspace }) {
  const facts = [
    ["Tool", tool],
    ["Effect", effects.map((effect) => EFFECTS[effect] ?? effect).join(", ")],
    ["Folder", workspace],
  ];
  return facts.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, visible(value ?? ""))));
}

/**
 * @param {Ask} ask
 * @param {(decision: Decision) => void} onDecide
 */
function buttonsOf({ options }, onDecide) {
  return BUTTONS.map(([value, label]) => {
    const given = options.find((option) => option.value === value);
    const kind = value === "approve" ? "primary" : value === "deny" ? "danger" : "";
    return h("button", { type: "button", class: `button ${kind}`, title: given?.description, onclick: () => onDecide(value) }, label);
  });
}
