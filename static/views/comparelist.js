/** Comparisons made before, each with what was voted, and the votes counted for each model. */

/** @import { Comparison, Score, View } from "../core/compare.js" */

import { deleteComparison } from "../core/compare.js";
import { h, smallButton } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { COMPARE, addressOf } from "../core/route.js";
import { dayGroup } from "../core/words.js";

/** @param {Comparison} comparison */
function outcome({ vote, panes, running, blind, revealed }) {
  if (running) return "Is being answered";
  if (vote === null) return blind && !revealed ? "Blind, no vote yet" : "No vote";
  if (vote === "tie") return "As good";
  if (vote === "none") return "None was good";
  return `Best: ${panes.find(({ pane }) => pane === vote)?.name ?? vote}`;
}

/** @param {Comparison} comparison */
function entry(comparison) {
  const { id, question, models, created_at } = comparison;
  const about = [models.map(({ model }) => model).join(", "), outcome(comparison), dayGroup(created_at, new Date())].join(" · ");
  const link = h("a", { href: addressOf(COMPARE, id), class: "hit" }, h("span", { class: "name", dir: "auto" }, question || "Without a question"), h("span", { class: "snippet", dir: "auto" }, about));
  const remove = h("button", { type: "button", class: "icon-button", "aria-label": `Delete ${question}`, title: "Delete", onclick: () => confirm() }, icon("bin"));
  const row = h("li", {}, link, remove);
  const confirm = () => {
    const keep = smallButton("Keep", () => {
      row.replaceChildren(link, remove);
      remove.focus();
    });
    row.replaceChildren(h("span", { class: "name" }, "Delete this comparison?"), smallButton("Delete", () => void deleteComparison(id), "danger"), keep);
    keep.focus();
  };
  return row;
}

/** @param {Score} score */
function scoreRow({ model, endpoint_label, wins, ties, losses, none }) {
  const figure = (/** @type {number} */ value) => h("td", { class: "numbers" }, String(value));
  return h("tr", {}, h("th", { scope: "row", dir: "auto", title: endpoint_label }, model), figure(wins), figure(ties), figure(losses), figure(none));
}

export function createList() {
  const entries = h("ul", { class: "compare-list" });
  const before = h("section", {}, h("h2", {}, "Comparisons"), entries);
  const body = h("tbody");
  const heads = ["Model", "Won", "As good", "Lost", "None good"].map((name) => h("th", { scope: "col" }, name));
  const table = h("div", { class: "compare-table" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body));
  const counted = h("section", {}, h("h2", {}, "Your votes"), table);
  let drawn = "";
  return {
    node: h("div", { class: "compare-before" }, before, counted),
    /** @param {View} view */
    draw({ list, scores }) {
      const now = JSON.stringify([list, scores]);
      if (now === drawn) return;
      drawn = now;
      before.hidden = list.length === 0;
      counted.hidden = scores.length === 0;
      entries.replaceChildren(...list.map(entry));
      body.replaceChildren(...scores.map(scoreRow));
    },
  };
}
