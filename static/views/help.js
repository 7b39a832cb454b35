/** The help sheet: every key of the page, from the same list that the keys are made of. */

import { allCommands, keyNames } from "../core/commands.js";
import { h } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadStyle } from "../core/lazy.js";

const body = h("div", { class: "help-groups" });
const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
const head = h("header", {}, h("h2", { id: "help-title" }, "Keys"), close);
const dialog = h("dialog", { id: "help", "aria-labelledby": "help-title" }, h("div", { class: "dialog-body" }, head, body, h("p", { class: "quiet" }, "On a touch screen Enter makes a new line, and the round button sends.")));

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});

/** @param {string} keys */
const named = (keys) => h("dd", { class: "keys" }, ...keyNames(keys).map((key) => h("kbd", {}, key)));

/** @param {string} group */
function section(group) {
  const rows = allCommands().filter((command) => command.group === group && command.keys);
  return h("section", {}, h("h3", {}, group), h("dl", {}, ...rows.map(({ title, keys = "" }) => h("div", {}, h("dt", {}, title), named(keys)))));
}

export async function showHelp() {
  await loadStyle("palette");
  if (!dialog.isConnected) document.body.append(dialog);
  if (dialog.open) return;
  const groups = new Set(allCommands().filter(({ keys }) => keys).map(({ group }) => group));
  body.replaceChildren(...[...groups].map(section));
  dialog.showModal();
}
