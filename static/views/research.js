/** The line of a research above its answer: what it does now, then what it has read, with the way to its report. */

/** @import { Message } from "../core/types.js" */

import { h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { doing, figuresOf, reportAddress } from "../core/research.js";

/** @returns {{ node: HTMLElement, draw: (message: Message) => void }} */
export function createResearch() {
  const words = h("span", { class: "research-words", dir: "auto" });
  const figures = h("span", { class: "quiet" });
  const report = h("a", { class: "button small", target: "_blank", rel: "noopener", hidden: true }, "Open the report");
  const node = h("div", { class: "research", hidden: true }, icon("globe"), h("div", { class: "research-text" }, words, figures), report);

  return {
    node,
    draw({ given, live, metadata }) {
      const { research } = given;
      node.hidden = !research;
      if (!research) return;
      const running = live !== null && !live.ended;
      const status = metadata?.status ?? live?.terminal?.status;
      node.dataset.running = String(running);
      setText(words, running ? doing(research) : ending(status));
      setText(figures, figuresOf(research));
      const there = !running && research.id !== "" && (status === "completed" || status === "interrupted");
      report.hidden = !there;
      if (there) report.href = reportAddress(research.id);
    },
  };
}

/** @param {string | undefined} status */
function ending(status) {
  if (status === "completed") return "Researched on the web";
  if (status === "interrupted") return "The server stopped. The research goes on with it, and its report comes when it is done.";
  return "The research ended without a report";
}
