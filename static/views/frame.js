/** The frame of the page: the side panel as a drawer on small screens, the title, the way to a new chat. */

import { byId, setText } from "../core/dom.js";
import { currentSession, state, watch } from "../core/state.js";
import { unread } from "../core/unread.js";

const side = byId("side", HTMLElement);
const scrim = byId("scrim", HTMLElement);
const menu = byId("menu", HTMLButtonElement);
const title = byId("title", HTMLElement);
const main = byId("main", HTMLElement);
const skip = byId("skip", HTMLAnchorElement);

const badge = document.querySelector("link[rel=icon]");

const isOpen = () => document.body.dataset.drawer === "open";

/**
 * Open or close the drawer. While it is open nothing else can be reached.
 *
 * @param {boolean} open
 */
function setDrawer(open) {
  document.body.dataset.drawer = open ? "open" : "closed";
  menu.setAttribute("aria-expanded", String(open));
  for (const rest of [skip, main]) rest.inert = open;
}

function openDrawer() {
  setDrawer(true);
  side.querySelector("a")?.focus({ preventScroll: true });
}

function leaveDrawer() {
  setDrawer(false);
  menu.focus();
}

/** Show the list of chats: the drawer where there is one, else its search field. */
export function showChats() {
  if (menu.checkVisibility()) openDrawer();
  else byId("search", HTMLInputElement).focus();
}

/** The tab tells how many chats have an answer that nobody has seen. */
function drawTitle() {
  if (document.body.dataset.place) return; // another view stands in the chat's place, with a title of its own
  const name = currentSession()?.name ?? (state.chat.session ? "" : "New chat");
  const news = unread().length;
  setText(title, name);
  const shown = name && state.chat.session ? `${name} · Odysseus` : "Odysseus";
  document.title = news ? `(${news}) ${shown}` : shown;
  const address = news ? "/static/icon-unread.svg" : "/static/icon.svg";
  if (badge && badge.getAttribute("href") !== address) badge.setAttribute("href", address);
}

export function startFrame() {
  watch(["chat", "sessions"], drawTitle);
  menu.addEventListener("click", openDrawer);
  scrim.addEventListener("click", leaveDrawer);
  matchMedia("(max-width: 760px)").addEventListener("change", () => setDrawer(false));
  addEventListener("hashchange", () => setDrawer(false));
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // the address names the chat, not a place on the page
    byId("message", HTMLTextAreaElement).focus();
  });
  side.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a[href^='#'], .hit, [aria-haspopup='dialog']")) setDrawer(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !isOpen()) return;
    event.preventDefault();
    leaveDrawer();
  });
}
