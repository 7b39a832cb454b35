/** Which of several messages on the same place is shown, with the ways to the one before and the one after. */

/** @import { Message } from "../core/types.js" */

import { placeOf } from "../core/branches.js";
import { h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";

/**
 * @param {"message" | "answer"} what
 * @param {(id: string, step: "before" | "after") => void} onStep
 */
export function createSwitch(what, onStep) {
  /** @type {ReturnType<typeof placeOf> | null} */
  let place = null;
  /** @param {"before" | "after"} step */
  const arrow = (step) => {
    const label = `${step === "before" ? "Previous" : "Next"} version of this ${what}`;
    const go = () => place?.[step] && onStep(place[step], step);
    return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, "data-step": step, onclick: go }, icon(step));
  };
  const before = arrow("before");
  const after = arrow("after");
  const count = h("span", { class: "numbers" });
  const node = h("div", { class: "switch", role: "group", hidden: true }, before, count, after);
  return {
    node,
    /** @param {Message} message */
    draw(message) {
      place = placeOf(message);
      node.hidden = place.count < 2 || !place.number;
      node.setAttribute("aria-label", `Version ${place.number} of ${place.count}`);
      setText(count, `${place.number}/${place.count}`);
      before.disabled = place.before === null;
      after.disabled = place.after === null;
    },
  };
}
