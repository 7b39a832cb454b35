/** What the sections of the settings share: a labelled field with its error beside it, a line that says how it went. */

import { ApiError } from "../../core/api.js";
import { h, setText, smallButton } from "../../core/dom.js";

let ids = 0;

/**
 * A field under its label. What is wrong with it stands below it and is read with it.
 *
 * @template {HTMLInputElement | HTMLTextAreaElement} T
 * @param {string} label
 * @param {T} input
 * @param {string} [hint]
 * @returns {{ node: HTMLElement, input: T, wrong: (text: string) => void }}
 */
export function field(label, input, hint = "") {
  const id = input.id || `setting-${(ids += 1)}`;
  const problem = h("p", { id: `${id}-problem`, class: "problem" });
  input.id = id;
  input.classList.add("field");
  input.setAttribute("aria-describedby", problem.id);
  const node = h("div", { class: "setting" }, h("label", { for: id }, label, hint && " ", hint && h("small", {}, hint)), input, problem);
  const wrong = (/** @type {string} */ text) => {
    setText(problem, text);
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (text) input.focus();
  };
  input.addEventListener("input", () => wrong(""));
  return { node, input, wrong };
}

/** A line that says how something went, read out as it changes. */
export function createSaid(id = "") {
  const node = h("p", { class: "said", role: "status", ...(id && { id }) });
  /**
   * @param {string} text
   * @param {"good" | "bad" | ""} [tone]
   */
  const say = (text, tone = "") => {
    setText(node, text);
    node.dataset.tone = tone;
  };
  return { node, say };
}

/**
 * Do something at the server; a refusal is said in its words.
 *
 * @param {() => Promise<void>} action
 * @param {(problem: string) => void} say
 * @returns {Promise<boolean>} whether it was done
 */
export async function attempt(action, say) {
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
    return false;
  }
}

/**
 * A small button that asks before it acts, in its own place.
 *
 * @param {string} text
 * @param {string} sure  what the second button says
 * @param {() => void} act
 */
export function confirmed(text, sure, act) {
  const node = h("span", { class: "actions" });
  const ask = () => {
    const keep = smallButton("Keep", () => offer(true));
    node.replaceChildren(smallButton(sure, act, "danger"), keep);
    keep.focus();
  };
  const offer = (/** @type {boolean} */ focus) => {
    const first = smallButton(text, ask);
    node.replaceChildren(first);
    if (focus) first.focus();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || node.childElementCount === 1) return;
    event.preventDefault(); // only the question goes, the dialog stays
    event.stopPropagation();
    offer(true);
  });
  offer(false);
  return node;
}

/**
 * What marks the row that somebody was led to each time the rows are drawn, and the first time brings it into sight with the focus.
 *
 * @param {string} attribute  where a row has its name
 * @param {string | undefined} wanted  without one nothing happens
 * @param {() => void} onMissing  there is no such row
 */
export function createPointer(attribute, wanted, onMissing) {
  let first = true;
  return (/** @type {HTMLElement} */ root) => {
    if (!wanted) return;
    const row = root.querySelector(`[${attribute}="${CSS.escape(wanted)}"]`);
    row?.setAttribute("aria-current", "true");
    if (first && !row) onMissing();
    if (first && row instanceof HTMLElement) {
      row.tabIndex = -1;
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "center" });
    }
    first = false;
  };
}

/** How many, in words: `1 file`, `3 files`. @type {(number: number, one: string, many?: string) => string} */
export const many = (number, one, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;
