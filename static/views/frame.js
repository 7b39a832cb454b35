/** The frame of the page: the side panel as a drawer on small screens, the title, the way to a new chat. */

import { byId, setText } from "../core/dom.js";
import { currentSession, state, watch } from "../core/state.js";

const side = byId("side", HTMLElement);
const scrim = byId("scrim", HTMLElement);
const menu = byId("menu", HTMLButtonElement);
const title = byId("title", HTMLElement);

/** @param {boolean} open */
function setDrawer(open) {
  document.body.dataset.drawer = open ? "open" : "closed";
  menu.setAttribute("aria-expanded", String(open));
}

function drawTitle() {
  const name = currentSession()?.name ?? (state.chat.session ? "" : "New chat");
  setText(title, name);
  document.title = name && state.chat.session ? `${name} · Odysseus` : "Odysseus";
}

export function startFrame() {
  watch(["chat", "sessions"], drawTitle);
  menu.addEventListener("click", () => {
    setDrawer(true);
    side.querySelector("a")?.focus();
  });
  scrim.addEventListener("click", () => setDrawer(false));
  addEventListener("hashchange", () => setDrawer(false));
  byId("skip", HTMLAnchorElement).addEventListener("click", (event) => {
    event.preventDefault(); // the address names the chat, not a place on the page
    byId("message", HTMLTextAreaElement).focus();
  });
  side.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a[href^='#']")) setDrawer(false);
  });
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.body.dataset.drawer !== "open") return;
    event.preventDefault();
    setDrawer(false);
    menu.focus();
  });
}
