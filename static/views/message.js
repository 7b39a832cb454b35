/** One message of the transcript: the user's words, or an answer with its label, reasoning, blocks and last line. */

/** @import { Row } from "../core/dom.js" */
/** @import { Message } from "../core/types.js" */
/** @import { Deeds } from "./foot.js" */

import { h, setText } from "../core/dom.js";
import { hasQuestion } from "../core/turns.js";
import { endedEarly, figures, outcome, standIn } from "../core/words.js";
import { BlockList } from "./blocks.js";
import { createFoot } from "./foot.js";
import { createReasoning } from "./reasoning.js";

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @param {() => void} onToggle  the reader opened something: the view should stay where it is
 * @returns {Row<Message>}
 */
export function createMessage(message, deeds, onToggle) {
  return message.role === "user" ? createQuestion(message, deeds) : createAnswer(message, deeds, onToggle);
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

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @returns {Row<Message>}
 */
function createQuestion(message, deeds) {
  const text = h("div", { class: "bubble", dir: "auto" });
  const ending = createOutcome();
  const foot = createFoot("message", () => message.content, (deed) => deeds[deed](message));
  return {
    node: h("article", { class: "message question", "aria-label": "You" }, text, ending.node, foot.node),
    update(now) {
      message = now;
      const { content, metadata, id } = message;
      setText(text, content);
      ending.draw(metadata ? outcome(metadata) : { text: "", tone: "quiet" });
      foot.draw({ figures: "", text: true, ways: id !== null && endedEarly(metadata), stored: id !== null });
    },
  };
}

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @param {() => void} onToggle
 * @returns {Row<Message>}
 */
function createAnswer(message, deeds, onToggle) {
  let content = "";
  let stored = "";
  const label = h("p", { class: "label model" });
  const fallback = h("p", { class: "label fallback" });
  const reasoning = createReasoning(onToggle);
  const blocks = new BlockList();
  const waiting = h("div", { class: "waiting", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
  const ending = createOutcome();
  const foot = createFoot("answer", () => content, (deed) => deeds[deed](message));
  const body = [label, fallback, reasoning.node, blocks.node, waiting, ending.node, foot.node];
  const node = h("article", { class: "message answer", "aria-label": "Answer" }, ...body);

  return {
    node,
    update(now) {
      message = now;
      const { live, metadata, id } = message;
      const running = live !== null && !live.ended;
      content = live?.text || message.content;
      setText(label, metadata?.model || live?.model || "");
      setText(fallback, standIn(live?.fallback ?? metadata?.fallback));
      label.title = live?.endpointLabel || metadata?.endpoint_label || "";
      reasoning.draw(live?.thinking || metadata?.thinking || "", running && !live.blocks.length);
      if (live) blocks.draw(live.blocks);
      else if (message.html !== null && message.html !== stored) blocks.showStored((stored = message.html));
      waiting.hidden = !running || live.blocks.length > 0;
      foot.node.hidden = running;
      if (running) return ending.draw({ text: "", tone: "quiet" });
      const record = metadata ?? live?.terminal ?? null;
      ending.draw(outcome(record, live?.error ?? null));
      const ways = endedEarly(record, live?.error ?? null) && hasQuestion(message);
      foot.draw({ figures: figures(live?.metrics ?? null, metadata), text: content !== "", ways, stored: id !== null });
    },
  };
}
