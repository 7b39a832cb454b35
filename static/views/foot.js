/** The foot of a message: its figures, its versions, the ways on from it, undoing what it changed, copying and deleting. */

/** @import { Message } from "../core/types.js" */

import { copyButton } from "../core/clipboard.js";
import { h, setText, smallButton as small } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { createSwitch } from "./switch.js";

/** @import { IconName } from "../core/icons.js" */

/**
 * @typedef {object} Deeds
 * @property {(message: Message) => void} again
 * @property {(message: Message) => void} fork
 * @property {(message: Message) => void} remove
 * @property {(id: string, step: "before" | "after") => void} show  another version
 */

/**
 * @param {string} label
 * @param {IconName} sign
 * @param {string} kind
 * @param {() => void} onclick
 */
const tool = (label, sign, kind, onclick) => h("button", { type: "button", class: `icon-button ${kind}`, "aria-label": label, title: label, onclick }, icon(sign));

/**
 * @param {"message" | "answer"} what
 * @param {() => string} read  the text to copy
 * @param {(deed: "again" | "fork" | "remove" | "edit" | "undo") => void} does
 * @param {Deeds["show"]} show
 */
export function createFoot(what, read, does, show) {
  const all = h("p", { class: "all-figures", hidden: true });
  const numbers = h("button", { type: "button", class: "figures", title: "All figures", "aria-expanded": "false", onclick: unfold });
  const ways = h("div", { class: "ways", hidden: true });
  const copy = copyButton(`Copy ${what}`, read);
  const remove = tool(`Delete ${what}`, "bin", "delete", () => confirm(`Delete this ${what}?`, "Delete", remove, () => does("remove")));
  const versions = createSwitch(what, show);
  const again = tool("Regenerate", "again", "again", () => does("again"));
  const edit = tool("Edit message", "edit", "edit", () => does("edit"));
  const fork = tool("Branch to a new chat", "fork", "fork", () => does("fork"));
  const tools = h("div", { class: "tools" }, ...(what === "answer" ? [again, fork] : [edit]), copy, remove);
  const node = h("div", { class: "foot" });

  const undo = small("Undo changes", () => confirm("Put the files back as they were before?", "Undo", undo, () => does("undo")));
  let undoable = false;
  const offer = () => node.replaceChildren(numbers, versions.node, ways, ...(undoable ? [undo] : []), tools, all);
  function unfold() {
    all.hidden = !all.hidden;
    numbers.setAttribute("aria-expanded", String(!all.hidden));
  }

  const confirm = createConfirm(node, offer);
  offer();

  return {
    node,
    /** Give the focus to what edits the message. */
    toEdit: () => (edit.hidden && ways.lastElementChild instanceof HTMLElement ? ways.lastElementChild : edit).focus(),
    /**
     * @param {Message} message
     * @param {{ figures: string, all: string, text: boolean, early: boolean, asked: boolean, undo: boolean }} now  `early`: it has no whole answer; `asked`: its question is there
     */
    draw(message, now) {
      const stored = message.id !== null;
      const outs = now.early && now.asked;
      versions.draw(message);
      again.hidden = outs || !now.asked || !stored;
      edit.hidden = outs || !stored;
      fork.hidden = !stored;
      setText(numbers, now.figures);
      setText(all, now.all);
      copy.hidden = !now.text;
      remove.hidden = !stored;
      if (undoable !== now.undo) {
        undoable = now.undo;
        if (remove.isConnected || !node.isConnected) offer();
      }
      if (ways.hidden !== outs) return;
      ways.hidden = !outs;
      const change = what === "message" && small("Edit", () => does("edit"));
      ways.replaceChildren(...(outs ? [small("Try again", () => does("again")), ...(change ? [change] : [])] : []));
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
