/** The folded disclosure with a model's reasoning, as plain text that only ever grows at its end. */

import { h, setText } from "../core/dom.js";

/**
 * @param {() => void} onToggle  the reader opened or closed it
 * @returns {{ node: HTMLElement, draw: (text: string, thinking: boolean) => void }}
 */
export function createReasoning(onToggle) {
  const content = document.createTextNode("");
  const title = h("span");
  const summary = h("summary", { onclick: onToggle }, title);
  const node = h("details", { class: "reasoning", hidden: true }, summary, h("div", { class: "reasoning-text", dir: "auto" }, content));
  return {
    node,
    draw(text, thinking) {
      node.hidden = !text;
      setText(title, thinking ? "Thinking…" : "Reasoning");
      if (text === content.data) return;
      if (text.startsWith(content.data)) content.appendData(text.slice(content.length));
      else content.data = text;
    },
  };
}
