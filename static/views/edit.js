/** A question being written anew in its place. What is sent begins a branch; the old words stay on theirs. */

import { h, smallButton as small } from "../core/dom.js";
import { loadStyle } from "../core/lazy.js";

/**
 * @param {string} text
 * @param {object} ways
 * @param {(text: string) => Promise<boolean>} ways.send  gives whether the server has it
 * @param {() => void} ways.leave  the form has done its work, or was given up
 * @param {(text: string) => void} ways.keep  what is written so far
 * @param {boolean} focus  the reader asked for it just now
 * @returns {Promise<HTMLElement>}
 */
export async function createEditor(text, { send, leave, keep }, focus) {
  await loadStyle("edit");
  const area = h("textarea", { class: "field", rows: 1, dir: "auto", "aria-label": "Your message" });
  const go = h("button", { type: "submit", class: "button small primary" }, "Send");
  const cancel = small("Cancel", leave);
  const note = h("span", { class: "quiet" }, "What followed stays, as a version of its own.");
  const node = h("form", { class: "editor" }, area, h("div", { class: "editor-foot" }, note, cancel, go));
  area.value = text;

  const grow = () => {
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  };
  const submit = async () => {
    if (go.disabled || !area.value.trim()) return;
    area.readOnly = go.disabled = true;
    const sent = await send(area.value);
    area.readOnly = go.disabled = false;
    if (sent) leave();
    else area.focus();
  };
  area.addEventListener("input", () => {
    grow();
    keep(area.value);
  });
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  node.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    } else if (event.key === "Enter" && !event.shiftKey && event.target === area) {
      event.preventDefault();
      void submit();
    }
  });
  requestAnimationFrame(() => {
    grow();
    if (!focus) return;
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
    node.scrollIntoView({ block: "nearest" });
  });
  return node;
}
