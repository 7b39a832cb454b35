/** The foot of a message: its figures, the ways out when it failed, copying and deleting. */

/** @import { Message } from "../core/types.js" */

import { copyButton } from "../core/clipboard.js";
import { h, setText, smallButton as small } from "../core/dom.js";
import { icon } from "../core/icons.js";

/** @typedef {{ again: (message: Message) => void, edit: (message: Message) => void, remove: (message: Message) => void }} Deeds */

/**
 * @param {"message" | "answer"} what
 * @param {() => string} read  the text to copy
 * @param {(deed: keyof Deeds) => void} does
 */
export function createFoot(what, read, does) {
  const numbers = h("span", { class: "figures" });
  const ways = h("div", { class: "ways", hidden: true });
  const copy = copyButton(`Copy ${what}`, read);
  const label = `Delete ${what}`;
  const remove = h("button", { type: "button", class: "icon-button delete", "aria-label": label, title: label }, icon("bin"));
  const node = h("div", { class: "foot" });

  const offer = () => node.replaceChildren(numbers, ways, copy, remove);
  const confirm = () => {
    const keep = small("Keep", () => {
      offer();
      remove.focus();
    });
    node.replaceChildren(h("span", {}, `Delete this ${what}?`), small("Delete", () => does("remove"), "danger"), keep);
    keep.focus();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || remove.isConnected) return;
    event.preventDefault();
    offer();
    remove.focus();
  });
  remove.addEventListener("click", confirm);
  offer();

  return {
    node,
    /** @param {{ figures: string, text: boolean, ways: boolean, stored: boolean }} now  what there is to show and to do */
    draw(now) {
      setText(numbers, now.figures);
      copy.hidden = !now.text;
      remove.hidden = !now.stored;
      if (ways.hidden !== now.ways) return;
      ways.hidden = !now.ways;
      ways.replaceChildren(...(now.ways ? [small("Try again", () => does("again")), small("Edit", () => does("edit"))] : []));
    },
  };
}
