/** What an answer shows of its agent: the flow between its blocks, and below them the plan and the card that waits. */

/** @import { Decision, Message } from "../core/types.js" */
/** @import { BlockList } from "./blocks.js" */

import { planIn } from "../core/checklist.js";
import { h, setText, smallButton } from "../core/dom.js";
import { isPlanMode } from "../core/modes.js";
import { state } from "../core/state.js";
import { isLast } from "../core/turns.js";
import { createApproval } from "./approval.js";
import { Flow } from "./flow.js";
import { createPlan } from "./plan.js";
import { createQuestionCard } from "./question.js";

/**
 * @typedef {object} AgentDeeds
 * @property {(message: Message, decision: Decision) => void} decide
 * @property {(text: string) => void} answer
 * @property {(plan: string) => void} carryOut
 */

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
  const carry = h("button", { type: "button", class: "button primary carry-out" }, "Carry out this plan");
  const more = smallButton("Continue", () => deeds.answer("Continue."));
  const approval = createApproval((choice) => deeds.decide(current(), choice));
  const question = createQuestionCard(deeds.answer);
  const cards = h("div", { class: "cards" });
  const planOf = () => current().work.plan || planIn(current().content);
  for (const card of [approval.node, question.node]) card.addEventListener("keydown", (event) => writeOn(card, event));
  carry.addEventListener("click", () => deeds.carryOut(planOf()));
  let asked = "";

  return {
    decision,
    cards,
    draw() {
      const message = current();
      const { work, live } = message;
      const running = live !== null && !live.ended;
      const last = isLast(message);
      flow.draw(work);
      blocks.node.dataset.last = String(last);
      setText(decision, DECISIONS[work.approval?.decision ?? ""] ?? "");
      plan.draw(work.plan);
      const ask = running ? null : work.ask;
      if (ask?.kind === "approval") approval.draw(ask, state.chat.sending);
      if (ask?.kind === "question") question.draw(ask, last);
      show(cards, [
        [plan.node, work.plan.trim() !== ""],
        [more, last && !running && message.metadata?.finish_reason === "length"],
        [carry, last && isPlanMode() && planOf() !== ""],
        [approval.node, ask?.kind === "approval"],
        [question.node, ask?.kind === "question"],
      ]);
      if (ask && live && asked !== ask.id + ask.question && ask.state === "pending") goTo(ask.kind === "approval" ? approval.node : question.node);
      if (ask) asked = ask.id + ask.question;
    },
  };
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
