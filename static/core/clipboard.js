/** Copying text, and a button that does it and says so. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { say } from "./said.js";

const SHOWN_MS = 1600;

/**
 * @param {string} text
 * @returns {Promise<boolean>} whether it is in the clipboard
 */
export async function copyText(text) {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch (error) {
    console.warn("The clipboard refused; trying the older way.", error);
  }
  return copyBySelection(text);
}

/**
 * The way for pages that are not on HTTPS.
 *
 * @param {string} text
 */
function copyBySelection(text) {
  const area = h("textarea", { class: "sr-only", readonly: true });
  area.value = text;
  const { activeElement: before } = document;
  (document.querySelector("dialog[open]") ?? document.body).append(area); // nothing outside an open dialog can be selected
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return copied;
}

/**
 * @param {string} label  what it copies, for those who cannot see it
 * @param {() => string} read
 */
export function copyButton(label, read) {
  const button = h("button", { type: "button", class: "icon-button copy", "aria-label": label, title: label }, icon("copy"));
  button.addEventListener("click", async () => {
    const copied = await copyText(read());
    button.replaceChildren(icon(copied ? "check" : "close"));
    say(copied ? "Copied." : "It could not be copied. Select the text and copy it with the keyboard.");
    setTimeout(() => button.replaceChildren(icon("copy")), SHOWN_MS);
  });
  return button;
}
