/** One message of the transcript: the user's words, or an answer with its label, reasoning, blocks and last line. */

/** @import { Row } from "../core/dom.js" */
/** @import { Message } from "../core/types.js" */

import { copyButton } from "../core/clipboard.js";
import { h, setText } from "../core/dom.js";
import { figures, outcome, standIn } from "../core/words.js";
import { BlockList } from "./blocks.js";
import { createReasoning } from "./reasoning.js";

/**
 * @param {Message} message
 * @param {() => void} onToggle  the reader opened something: the view should stay where it is
 * @returns {Row<Message>}
 */
export function createMessage(message, onToggle) {
  return message.role === "user" ? createQuestion() : createAnswer(onToggle);
}

/** The line that says how a run ended. Hidden while there is nothing to say. */
function createOutcome() {
  const node = h("p", { class: "outcome", hidden: true });
  return {
    node,
    /** @param {{ text: string, tone: string }} ending */
    draw(ending) {
      setText(node, ending.text);
      node.hidden = !ending.text;
      node.dataset.tone = ending.tone;
    },
  };
}

/** @returns {Row<Message>} */
function createQuestion() {
  let content = "";
  const text = h("div", { class: "bubble", dir: "auto" });
  const ending = createOutcome();
  const foot = h("div", { class: "foot" }, copyButton("Copy message", () => content));
  return {
    node: h("article", { class: "message question", "aria-label": "You" }, text, foot, ending.node),
    update(message) {
      content = message.content;
      setText(text, content);
      ending.draw(message.metadata ? outcome(message.metadata) : { text: "", tone: "quiet" });
    },
  };
}

/**
 * @param {() => void} onToggle
 * @returns {Row<Message>}
 */
function createAnswer(onToggle) {
  let content = "";
  let stored = "";
  const label = h("p", { class: "label model" });
  const fallback = h("p", { class: "label fallback" });
  const reasoning = createReasoning(onToggle);
  const blocks = new BlockList();
  const waiting = h("div", { class: "waiting", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
  const ending = createOutcome();
  const numbers = h("span", { class: "figures" });
  const foot = h("div", { class: "foot" }, numbers, copyButton("Copy answer", () => content));
  const body = [label, fallback, reasoning.node, blocks.node, waiting, ending.node, foot];
  const node = h("article", { class: "message answer", "aria-label": "Answer" }, ...body);

  return {
    node,
    update(message) {
      const { live, metadata } = message;
      const running = live !== null && !live.ended;
      content = live?.text || message.content;
      setText(label, metadata?.model || live?.model || "");
      setText(fallback, standIn(live?.fallback ?? metadata?.fallback));
      label.title = live?.endpointLabel || metadata?.endpoint_label || "";
      reasoning.draw(live?.thinking || metadata?.thinking || "", running && !live.blocks.length);
      if (live) blocks.draw(live.blocks);
      else if (message.html !== null && message.html !== stored) blocks.showStored((stored = message.html));
      waiting.hidden = !running || live.blocks.length > 0;
      ending.draw(running ? { text: "", tone: "quiet" } : outcome(metadata ?? live?.terminal ?? null, live?.error ?? null));
      setText(numbers, running ? "" : figures(live?.metrics ?? null, metadata));
      foot.hidden = running || (!content && !numbers.textContent);
    },
  };
}
