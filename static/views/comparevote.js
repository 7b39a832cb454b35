/** The vote below the panes: which answer is the best, once all have ended; and what it was. */

/** @import { View } from "../core/compare.js" */

import { isAnswering, openPanes, vote } from "../core/compare.js";
import { h, setText } from "../core/dom.js";

/** @type {Record<string, string>} */
const OTHER = { tie: "As good", none: "None is good" };

export function createVote() {
  const question = h("span", { role: "status" });
  const buttons = h("div", { class: "actions", role: "group", "aria-label": "Your vote" });
  const node = h("div", { class: "compare-vote", hidden: true }, question, buttons);
  let drawn = "";
  return {
    node,
    /** @param {View} view */
    draw(view) {
      const { comparison } = view;
      const ready = comparison !== null && view.turns.length > 0 && !isAnswering(view);
      node.hidden = !ready;
      if (!ready) return (drawn = "");
      const fixed = comparison.blind && comparison.vote !== null;
      const names = openPanes(view).map(({ pane, name }) => [pane, name]);
      const choices = fixed ? [] : [...names, ...Object.entries(OTHER)];
      setText(question, said(comparison));
      const now = JSON.stringify([choices, comparison.vote]);
      if (now === drawn) return now;
      const had = buttons.contains(document.activeElement);
      buttons.replaceChildren(
        ...choices.map(([choice, name]) => h("button", { type: "button", class: "button small", dir: "auto", "aria-pressed": String(choice === comparison.vote), onclick: () => void vote(choice) }, name)),
      );
      if (had) /** @type {HTMLElement | null} */ (buttons.querySelector("[aria-pressed=true]") ?? buttons.firstElementChild)?.focus();
      return (drawn = now);
    },
  };
}

/** @param {import("../core/compare.js").Comparison} comparison */
function said({ vote: choice, panes, blind }) {
  if (choice === null) return "Which answer is the best?";
  if (choice === "tie") return "You found them as good as each other.";
  if (choice === "none") return "You found none of them good.";
  const best = panes.find(({ pane }) => pane === choice)?.name ?? choice;
  return blind ? `You chose model ${choice}, which is ${best}.` : `You chose ${best}.`;
}
