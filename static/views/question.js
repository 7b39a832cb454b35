/** The card with the agent's question: its options as buttons, or as boxes to tick. An answer is an ordinary message. */

/** @import { Ask, Option } from "../core/types.js" */

import { h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";

let cards = 0;

/** @param {(text: string) => void} onAnswer */
export function createQuestionCard(onAnswer) {
  const id = `question-${(cards += 1)}`;
  const question = h("strong", { dir: "auto", id });
  const description = h("p", { dir: "auto" });
  const options = h("div", { class: "choices" });
  const hint = h("p", { class: "quiet" });
  const head = h("p", { class: "card-head" }, icon("ask"), question);
  const node = h("section", { class: "card question-card", tabindex: -1, role: "group", "aria-labelledby": id }, head, description, options, hint);
  let drawn = "";
  return {
    node,
    /**
     * @param {Ask} ask
     * @param {boolean} open  it can be answered
     */
    draw(ask, open) {
      node.dataset.state = open ? "pending" : "answered";
      const wanted = `${open} ${ask.multi} ${ask.question} ${JSON.stringify(ask.options)}`;
      if (wanted === drawn) return;
      drawn = wanted;
      setText(question, ask.question || "What shall it be?");
      setText(description, ask.description);
      description.hidden = !ask.description;
      options.replaceChildren(...(!open ? told(ask) : ask.multi ? boxes(ask, onAnswer) : buttons(ask, onAnswer)));
      setText(hint, ask.options.length ? "Or write your own answer below." : "Write your answer below.");
      hint.hidden = !open;
    },
  };
}

/** @param {Option} option */
const wordsOf = ({ label, description }) => [
  h("span", { dir: "auto" }, label),
  description && h("small", { dir: "auto" }, description),
];

/** @param {Ask} ask */
const told = ({ options }) => options.map((option) => h("div", { class: "choice" }, ...wordsOf(option)));

/**
 * @param {Ask} ask
 * @param {(text: string) => void} onAnswer
 */
function buttons({ options }, onAnswer) {
  return options.map((option) => h("button", { type: "button", class: "choice", onclick: () => onAnswer(option.label) }, ...wordsOf(option)));
}

/**
 * @param {Ask} ask
 * @param {(text: string) => void} onAnswer
 */
function boxes({ options }, onAnswer) {
  const inputs = options.map(({ label }) => h("input", { type: "checkbox", value: label }));
  const chosen = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);
  const send = h("button", { type: "button", class: "button primary", disabled: true, onclick: () => onAnswer(chosen().join(", ")) }, "Send");
  for (const input of inputs) input.addEventListener("change", () => (send.disabled = !chosen().length));
  const rows = options.map((option, index) => h("label", { class: "choice" }, inputs[index], h("span", { class: "choice-words" }, ...wordsOf(option))));
  return [...rows, h("div", { class: "actions" }, send)];
}
