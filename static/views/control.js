/** What the agent asks of the page itself. What the page does not have is passed over, and nothing here can throw. */

import { chooseModel } from "../core/models.js";
import { setMode } from "../core/modes.js";
import { state, watch } from "../core/state.js";
import { restoreTheme, setTheme } from "../core/theme.js";

/** @typedef {Record<"endpoints" | "models" | "chats", () => void>} Panels */

/** The names that a panel may be called by. @type {Record<string, keyof Panels>} */
const NAMES = {
  endpoints: "endpoints",
  settings: "endpoints",
  providers: "endpoints",
  models: "models",
  model: "models",
  chats: "chats",
  sessions: "chats",
  history: "chats",
  search: "chats",
};

/** @param {unknown} selector */
function find(selector) {
  try {
    return document.querySelector(String(selector));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null; // not a selector
  }
}

function clearHighlight() {
  for (const node of document.querySelectorAll("[data-pointed]")) node.removeAttribute("data-pointed");
}

/** @param {Record<string, unknown>} control */
function highlight({ selector, label }) {
  clearHighlight();
  const node = find(selector);
  if (!(node instanceof HTMLElement)) return;
  node.dataset.pointed = typeof label === "string" ? label : "";
  node.scrollIntoView({ block: "nearest" });
}

/** @param {Record<string, unknown>} control */
function switchModel({ model, endpoint_id }) {
  const item = state.models.find((known) => known.endpoint_id === endpoint_id) ?? state.models.find(({ models }) => models.some(({ id }) => id === model));
  if (item && typeof model === "string") void chooseModel({ endpoint_id: item.endpoint_id, model });
}

/**
 * @param {Record<string, unknown>} control
 * @param {Panels} panels
 */
function apply(control, panels) {
  switch (control.ui_event) {
    case "set_mode":
      if (control.mode === "chat" || control.mode === "agent") void setMode(control.mode);
      break;
    case "switch_model":
      return switchModel(control);
    case "set_theme":
      return setTheme(control.theme_name);
    case "open_panel":
      if (Object.hasOwn(NAMES, String(control.panel))) panels[/** @type {keyof Panels} */ (NAMES[String(control.panel)])]();
      break;
    case "highlight":
      return highlight(control);
    case "clear_highlight":
      return clearHighlight();
  }
}

/** @param {Panels} panels */
export function startControl(panels) {
  restoreTheme();
  watch(["live"], () => {
    const controls = state.chat.live?.work.controls.splice(0) ?? [];
    for (const control of controls) apply(control, panels);
  });
  watch(["chat"], () => !state.chat.messages.length && clearHighlight());
}
