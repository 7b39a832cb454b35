/** The dialog of the settings: its sections at the side, each loaded when it is opened. Knows nothing of what is in them. */

import { byId, h, setText } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { addressOf, readAddress, settingsAddress } from "../../core/route.js";
import { state } from "../../core/state.js";

/**
 * Fills a section. What it gives back is called when the section is left.
 *
 * @typedef {(root: HTMLElement, item: string[]) => void | (() => void)} Draw  `item`: what is to be seen in it
 */

/** The sections by their names in the address. @type {Record<string, { title: string, load: () => Promise<{ draw: Draw }> }>} */
const SECTIONS = {
  endpoints: { title: "Endpoints", load: () => import("./endpoints.js") },
  tools: { title: "Tools", load: () => import("./tools.js") },
  agents: { title: "Agents", load: () => import("./agents.js") },
  memories: { title: "Memories", load: () => import("./memories.js") },
  library: { title: "Library", load: () => import("./library.js") },
  appearance: { title: "Appearance", load: () => import("./appearance.js") },
  notifications: { title: "Notifications", load: () => import("./notifications.js") },
  about: { title: "About", load: () => import("./about.js") },
};

const FIRST = "endpoints";

const title = h("h2", { id: "settings-title" }, "Settings");
const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
const links = Object.entries(SECTIONS).map(([name, { title: text }]) => h("a", { href: settingsAddress(name), "data-section": name }, text));
const nav = h("nav", { "aria-label": "Settings" }, ...links);
const heading = h("h3", { id: "settings-section", tabindex: -1 });
const root = h("div", { class: "section-body" });
const panel = h("section", { "aria-labelledby": "settings-section" }, heading, root);
const dialog = h("dialog", { id: "settings", "aria-labelledby": "settings-title" }, h("header", {}, title, close), h("div", { class: "settings-body" }, nav, panel));

let shown = "";
/** What was to be seen in it, by the address. */
let pointed = "";
/** @type {(() => void) | void} */
let leave;

/**
 * @param {string} name
 * @param {string[]} item
 */
async function change(name, item) {
  leave?.();
  leave = undefined;
  shown = name;
  const section = /** @type {{ title: string, load: () => Promise<{ draw: Draw }> }} */ (SECTIONS[name]);
  for (const link of links) link.setAttribute("aria-current", link.dataset.section === name ? "page" : "false");
  links.find((link) => link.dataset.section === name)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  setText(heading, section.title);
  root.replaceChildren();
  panel.scrollTop = 0;
  try {
    const { draw } = await section.load();
    if (shown === name && dialog.open) leave = draw(root, item);
  } catch (error) {
    console.warn("A section of the settings cannot be loaded.", error);
    if (shown === name) root.replaceChildren(h("p", { role: "alert" }, "This cannot be loaded. Is the server still running?"));
  }
}

/**
 * Show a section, and the dialog, if it is not open.
 *
 * @param {string} section
 * @param {string[]} item
 */
export function showSettings(section, item) {
  const name = Object.hasOwn(SECTIONS, section) ? section : FIRST;
  const opened = !dialog.open;
  if (opened) dialog.showModal();
  const same = shown === name && pointed === item.join("/");
  if (same && !opened) return;
  pointed = item.join("/");
  void change(name, item);
  if (!opened) heading.focus();
}

export const hideSettings = () => dialog.close();

/** The address is the chat's again, and the focus goes to where it is of use. */
function left() {
  leave?.();
  leave = undefined;
  shown = "";
  root.replaceChildren(); // what was typed, like a key, goes with it
  if (readAddress().settings !== null) {
    const { session } = state.chat;
    history.replaceState(null, "", session ? addressOf(session) : location.pathname + location.search);
  }
  // What opened it may be gone, when a new endpoint made it needless.
  if (document.activeElement === document.body) byId("message", HTMLTextAreaElement).focus();
}

document.body.append(dialog);
dialog.addEventListener("close", left);
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});
