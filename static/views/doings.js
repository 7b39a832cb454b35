/** What an answer shows of its agent: the flow between its blocks, and below them the plan and the card that waits. */

/** @import { Ask, Decision, Message } from "../core/types.js" */
/** @import { BlockList } from "./blocks.js" */

import { planIn } from "../core/checklist.js";
import { h, setText, smallButton } from "../core/dom.js";
import { keepEdit, readEdit } from "../core/drafts.js";
import { loadPart } from "../core/lazy.js";
import { isPlanMode } from "../core/modes.js";
import { state } from "../core/state.js";
import { isLast } from "../core/turns.js";
import { Flow } from "./flow.js";
import { createPlan } from "./plan.js";

/**
 * @typedef {object} AgentDeeds
 * @property {(message: Message, decision: Decision) => void} decide
 * @property {(text: string) => void} answer
 * @property {(plan: string) => Promise<boolean>} carryOut
 */

/** @typedef {{ node: HTMLElement, draw: (ask: Ask, busyOrOpen: boolean) => void }} Card */

/** @type {Record<string, string>} */
const DECISIONS = { approve: "You approved", approve_task: "You approved for this task", deny: "You denied" };

/**
 * @param {BlockList} blocks
 * @param {() => Message} current
 * @param {AgentDeeds} deeds
 * @param {() => void} onToggle
 */
export function createDoings(blocks, current, deeds, onToggle) {
  const flow = new Flow(blocks, onToggle, () => deeds.answer("Continue."));
  const decision = h("p", { class: "label decision" });
  const plan = createPlan(onToggle);
  const draft = createDraft(() => current().work.plan || planIn(current().content), () => current().id);
  const carry = h("button", { type: "button", class: "button primary carry-out" }, "Carry out this plan");
  const ways = h("div", { class: "actions" }, carry, draft.edit);
  const more = smallButton("Continue", () => deeds.answer("Continue."));
  const cards = h("div", { class: "cards" });
  carry.addEventListener("click", async () => (await deeds.carryOut(draft.text())) && draft.close());
  /** @type {Partial<Record<Ask["kind"], Card>>} */
  const made = {};
  let making = "";
  let asked = "";

  /** Cards are for few answers: their view is loaded with the first that asks. @param {Ask["kind"]} kind */
  async function make(kind) {
    if (made[kind] || making === kind) return;
    making = kind;
    const decide = (/** @type {Decision} */ choice) => deeds.decide(current(), choice);
    const card = await loadPart("The card", async () =>
      kind === "approval" ? (await import("./approval.js")).createApproval(decide) : (await import("./question.js")).createQuestionCard(deeds.answer),
    );
    making = "";
    if (!card) return;
    card.node.addEventListener("keydown", (event) => writeOn(card.node, event));
    made[kind] = card;
    doings.draw();
  }

  const doings = {
    decision,
    cards,
    draw() {
      const message = current();
      const { work, live } = message;
      const running = live !== null && !live.ended;
      const last = isLast(message);
      const planned = last && isPlanMode() && draft.plan() !== "";
      if (planned) draft.restore();
      flow.draw(work);
      blocks.node.dataset.last = String(last);
      setText(decision, DECISIONS[work.approval?.decision ?? ""] ?? "");
      plan.draw(work.plan);
      const ask = running ? null : work.ask;
      if (ask) void make(ask.kind);
      const card = ask && made[ask.kind];
      if (card) card.draw(ask, ask.kind === "approval" ? state.chat.sending : last);
      show(cards, [
        [plan.node, work.plan.trim() !== ""],
        [more, last && !running && message.metadata?.finish_reason === "length"],
        ...[draft.node, ways].map((one) => /** @type {[HTMLElement, boolean]} */ ([one, planned])),
        ...Object.values(made).map((one) => /** @type {[HTMLElement, boolean]} */ ([one.node, one === card])),
      ]);
      if (!ask || !card) return;
      if (live && asked !== ask.id + ask.question && ask.state === "pending") goTo(card.node);
      asked = ask.id + ask.question;
    },
  };
  return doings;
}

/**
 * A plan that the user may change before it is carried out.
 *
 * @param {() => string} plan
 * @param {() => string | null} message  whose plan it is
 */
function createDraft(plan, message) {
  const node = h("textarea", { class: "field plan-draft", "aria-label": "The plan", dir: "auto", hidden: true });
  const edit = smallButton("Edit the plan", () => (node.hidden ? begin(plan()) : leave()));
  const kept = () => readEdit(message() ?? "");
  const keep = (/** @type {string} */ text) => keepEdit(message() ?? "", text);

  /** @param {string} text */
  function begin(text, focus = true) {
    node.value = text;
    show(true);
    if (focus) node.focus();
  }
  function leave() {
    close();
    edit.focus();
  }
  function close() {
    show(false);
    keep("");
  }
  /** @param {boolean} open */
  function show(open) {
    node.hidden = !open;
    setText(edit, open ? "Leave it as it was" : "Edit the plan");
  }
  node.addEventListener("input", () => keep(node.value));
  node.addEventListener("keydown", ({ key }) => key === "Escape" && leave());
  const restore = () => node.hidden && kept() && begin(kept(), false);
  return { node, edit, plan, close, restore, text: () => (node.hidden ? plan() : node.value) };
}

/**
 * Have those that are wanted in the parent, in this order. One that stays is not moved.
 *
 * @param {HTMLElement} parent
 * @param {[node: HTMLElement, wanted: boolean][]} all
 */
function show(parent, all) {
  let place = null;
  for (const [node, wanted] of all.toReversed()) {
    if (!wanted) node.remove();
    else if (node.parentNode !== parent) parent.insertBefore(node, place);
    if (wanted) place = node;
  }
  parent.hidden = place === null;
}

/** The card takes the focus, unless the reader is somewhere else with it. @param {HTMLElement} card */
function goTo(card) {
  const { activeElement: at } = document;
  const idle = !at || at === document.body || (at.id === "message" && /** @type {HTMLTextAreaElement} */ (at).value === "");
  if (idle && card.isConnected) card.focus({ preventScroll: true });
}

/**
 * Who begins to write while the card has the focus writes in the message field.
 *
 * @param {HTMLElement} card
 * @param {KeyboardEvent} event
 */
function writeOn(card, event) {
  const writes = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.target === card && writes) document.getElementById("message")?.focus();
}
