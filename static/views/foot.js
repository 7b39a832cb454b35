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

  const undo = small("Undo changes", () => confirm("Put the files back as they were before?", "Undo", "undo", undo));

  const offer = () => node.replaceChildren(numbers, ways, undo, copy, remove);
  /** @type {HTMLElement} */
  let asker = remove;
  const leave = () => {
    offer();
    asker.focus();
  };
  /**
   * @param {string} question
   * @param {string} yes
   * @param {"remove" | "undo"} deed
   * @param {HTMLElement} from  gets the focus back
   */
  const confirm = (question, yes, deed, from) => {
    asker = from;
    const keep = small("Keep", leave);
    const act = () => {
      if (deed === "undo") offer();
      does(deed);
    };
    node.replaceChildren(h("span", {}, question), small(yes, act, "danger"), keep);
    keep.focus();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || remove.isConnected) return;
    event.preventDefault();
    leave();
  });
  remove.addEventListener("click", () => confirm(`Delete this ${what}?`, "Delete", "remove", remove));
  offer();

  return {
    node,
    /** @param {{ figures: string, text: boolean, ways: boolean, stored: boolean, undo: boolean }} now  what there is to show and to do */
    draw(now) {
      setText(numbers, now.figures);
      copy.hidden = !now.text;
      remove.hidden = !now.stored;
      undo.hidden = !now.undo;
      if (ways.hidden !== now.ways) return;
      ways.hidden = !now.ways;
      ways.replaceChildren(...(now.ways ? [small("Try again", () => does("again")), small("Edit", () => does("edit"))] : []));
    },
  };
}
