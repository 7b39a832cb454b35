/** The agent's plan as a checklist that changes in place. */

/** @import { Row } from "../core/dom.js" */
/** @import { PlanLine } from "../core/checklist.js" */

import { planLines } from "../core/checklist.js";
import { h, reconcile, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";

/** @type {Record<string, [icon: "ticked" | "doing" | "todo", word: string]>} */
const SIGNS = { done: ["ticked", "Done"], doing: ["doing", "Being done"], todo: ["todo", "Open"] };

/** @param {() => void} onToggle */
export function createPlan(onToggle) {
  const count = h("span", { class: "quiet numbers" });
  const list = h("ul");
  const node = h("details", { class: "card plan", open: true }, h("summary", { onclick: onToggle }, h("strong", {}, "Plan"), count), list);
  /** @type {Map<string, Row<PlanLine>>} */
  const rows = new Map();
  let drawn = "";
  return {
    node,
    /** @param {string} plan */
    draw(plan) {
      if (plan === drawn) return;
      drawn = plan;
      const lines = planLines(plan);
      const steps = lines.filter(({ state }) => Object.hasOwn(SIGNS, state));
      const done = steps.filter(({ state }) => state === "done").length;
      setText(count, steps.length ? `${done} of ${steps.length} done` : "");
      const keyed = lines.map((line, index) => ({ ...line, index }));
      reconcile(list, rows, keyed, ({ index }) => String(index), createLine);
    },
  };
}

/** @returns {Row<PlanLine>} */
function createLine() {
  const sign = h("span", { class: "plan-sign" });
  const text = h("span", { dir: "auto" });
  const node = h("li", {}, sign, text);
  return {
    node,
    update(line) {
      setText(text, line.text);
      if (node.dataset.state === line.state && node.dataset.level === String(line.level)) return;
      node.dataset.state = line.state;
      node.dataset.level = String(line.level);
      const known = SIGNS[line.state];
      sign.replaceChildren(...(known ? [icon(known[0]), h("span", { class: "sr-only" }, `${known[1]}:`)] : []));
    },
  };
}
