/** Copying text, and a button that does it and says so. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

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
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
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
    button.setAttribute("aria-label", copied ? "Copied" : "Could not be copied");
    setTimeout(() => {
      button.replaceChildren(icon("copy"));
      button.setAttribute("aria-label", label);
    }, SHOWN_MS);
  });
  return button;
}
