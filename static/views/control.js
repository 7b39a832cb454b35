/** What the agent asks of the page itself. What the page does not have is passed over, and nothing here can throw. */

import { chooseModel } from "../core/models.js";
import { setMode, setWeb } from "../core/modes.js";
import { state, watch } from "../core/state.js";
import { restoreTheme, setTheme } from "../core/theme.js";
import { setUse } from "../core/uses.js";

/** @typedef {{ settings: (section?: string) => void, models: () => void, chats: () => void, research: () => void, documents: () => void, written: (id: string, title: string) => void }} Panels */

/** The names that a section of the settings may be called by. @type {Record<string, string>} */
const SECTIONS = {
  settings: "",
  preferences: "",
  endpoints: "endpoints",
  providers: "endpoints",
  tools: "tools",
  mcp: "tools",
  agents: "agents",
  memory: "memories",
  memories: "memories",
  library: "library",
  files: "library",
  appearance: "appearance",
  theme: "appearance",
  notifications: "notifications",
  about: "about",
};

/** The names that another panel may be called by. @type {Record<string, "models" | "chats" | "research" | "documents">} */
const NAMES = {
  research: "research",
  models: "models",
  model: "models",
  chats: "chats",
  sessions: "chats",
  history: "chats",
  search: "chats",
  documents: "documents",
  document: "documents",
  editor: "documents",
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

/** The switches, by the names they have for the agent. @type {Record<string, (on: boolean) => void>} */
const SWITCHES = {
  web: setWeb,
  research: (on) => setUse("research", on),
  rag: (on) => setUse("library", on),
  bash: (on) => setUse("programs", on),
  incognito: (on) => setUse("incognito", on),
};

/**
 * @param {string} name
 * @param {boolean} on
 */
function toggle(name, on) {
  if (Object.hasOwn(SWITCHES, name)) SWITCHES[name]?.(on);
}

/**
 * @param {string} name
 * @param {Panels} panels
 */
function openPanel(name, panels) {
  const section = name.replace(/^settings\//, "");
  if (Object.hasOwn(SECTIONS, section)) panels.settings(SECTIONS[section]);
  else if (Object.hasOwn(NAMES, name)) panels[/** @type {"models" | "chats" | "research"} */ (NAMES[name])]();
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
    case "toggle":
      return toggle(String(control.toggle_name), control.state === true);
    case "switch_model":
      return switchModel(control);
    case "set_theme":
      return setTheme(control.theme_name);
    case "open_panel":
      return openPanel(String(control.panel).trim().toLowerCase(), panels);
    case "document_written":
      return panels.written(String(control.doc_id), String(control.title));
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
