/** The foot of a message: its figures, the ways out when it failed, undoing what it changed, copying and deleting. */

/** @import { Message } from "../core/types.js" */

import { copyButton } from "../core/clipboard.js";
import { h, setText, smallButton as small } from "../core/dom.js";
import { icon } from "../core/icons.js";

/** @typedef {{ again: (message: Message) => void, edit: (message: Message) => void, remove: (message: Message) => void }} Deeds */

/**
 * @param {"message" | "answer"} what
 * @param {() => string} read  the text to copy
 * @param {(deed: keyof Deeds | "undo") => void} does
 */
export function createFoot(what, read, does) {
  const numbers = h("span", { class: "figures" });
  const ways = h("div", { class: "ways", hidden: true });
  const copy = copyButton(`Copy ${what}`, read);
  const label = `Delete ${what}`;
  const remove = h("button", { type: "button", class: "icon-button delete", "aria-label": label, title: label }, icon("bin"));
  const node = h("div", { class: "foot" });

  const undo = small("Undo changes", () => confirm("Put the files back as they were before?", "Undo", undo, () => does("undo")));
  let undoable = false;
  const offer = () => node.replaceChildren(numbers, ways, ...(undoable ? [undo] : []), copy, remove);
  const confirm = createConfirm(node, offer);
  remove.addEventListener("click", () => confirm(`Delete this ${what}?`, "Delete", remove, () => does("remove")));
  offer();

  return {
    node,
    /** @param {{ figures: string, text: boolean, ways: boolean, stored: boolean, undo: boolean }} now  what there is to show and to do */
    draw(now) {
      setText(numbers, now.figures);
      copy.hidden = !now.text;
      remove.hidden = !now.stored;
      if (undoable !== now.undo) {
        undoable = now.undo;
        if (remove.isConnected || !node.isConnected) offer();
      }
      if (ways.hidden !== now.ways) return;
      ways.hidden = !now.ways;
      ways.replaceChildren(...(now.ways ? [small("Try again", () => does("again")), small("Edit", () => does("edit"))] : []));
    },
  };
}

/**
 * A question in place of what is offered, with a way back.
 *
 * @param {HTMLElement} node
 * @param {() => void} offer
 * @returns {(question: string, yes: string, from: HTMLElement, act: () => void) => void} `from` gets the focus back
 */
function createConfirm(node, offer) {
  /** @type {HTMLElement | null} */
  let asker = null;
  const leave = () => {
    offer();
    asker?.focus();
    asker = null;
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !asker) return;
    event.preventDefault();
    leave();
  });
  return (question, yes, from, act) => {
    asker = from;
    const keep = small("Keep", leave);
    const go = () => {
      leave();
      act();
    };
    node.replaceChildren(h("span", {}, question), small(yes, go, "danger"), keep);
    keep.focus();
  };
}
