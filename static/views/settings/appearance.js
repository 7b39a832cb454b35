/** Settings, appearance: light or dark, and the size of the text. Kept in this browser. */

import { h } from "../../core/dom.js";
import { readTextSize, readTheme, setTextSize, setTheme } from "../../core/theme.js";

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  root.replaceChildren(
    choices("Colours", "theme", { system: "As the system", light: "Light", dark: "Dark" }, readTheme() || "system", setTheme),
    choices("Size of the text", "text-size", { small: "Small", normal: "Normal", large: "Large", larger: "Larger" }, readTextSize() || "normal", setTextSize),
    h("p", { class: "quiet" }, "Both are kept in this browser."),
  );
}

/**
 * @param {string} legend
 * @param {string} name
 * @param {Record<string, string>} options
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
function choices(legend, name, options, chosen, choose) {
  const radios = Object.entries(options).map(([value, text]) => h("label", { class: "check" }, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }), text));
  return h("fieldset", {}, h("legend", {}, legend), ...radios);
}
