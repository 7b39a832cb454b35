/** The list of sessions at the side: opening, renaming, pinning, putting away, exporting and deleting, each in its place. */

/** @import { Row } from "../core/dom.js" */
/** @import { Session } from "../core/types.js" */

import { exportAddress } from "../core/api.js";
import { byId, h, reconcile, setText, smallButton as small } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadPart } from "../core/lazy.js";
import { addressOf } from "../core/route.js";
import { deleteSession, moveSession, renameSession, showArchived } from "../core/sessions.js";
import { state, watch } from "../core/state.js";
import { isUnread } from "../core/unread.js";
import { dayGroup } from "../core/words.js";

const list = byId("sessions", HTMLElement);

/** What a chat can be exported as. @type {[format: string, word: string][]} */
const FILES = [["html", "Web page"], ["md", "Markdown"], ["json&files=1", "JSON"]];

/** @typedef {{ key: string, heading: string } | { key: string, session: Session }} Item */
/** @type {Map<string, Row<Item>>} */
const rows = new Map();

let archived = false;

/** Sessions newest first under their day, the pinned ones on top. */
function items() {
  /** @type {Item[]} */
  const found = [];
  let last = "";
  const order = [...(archived ? state.archived : state.sessions)].sort((a, b) => Number(b.pinned) - Number(a.pinned));
  for (const session of order) {
    const heading = session.pinned && !archived ? "Pinned" : dayGroup(session.last_message_at ?? session.updated_at, new Date());
    if (heading !== last) found.push({ key: `heading ${heading}`, heading });
    last = heading;
    found.push({ key: session.id, session });
  }
  return found;
}

/**
 * @param {Item} item
 * @returns {Row<Item>}
 */
function create(item) {
  if ("session" in item) return createRow(item.session);
  return { node: h("h2", { class: "day" }, item.heading), update: () => undefined };
}

/**
 * @param {Session} first
 * @returns {Row<Item>}
 */
function createRow(first) {
  let session = first;
  const name = h("span", { class: "name", dir: "auto" });
  const mark = h("span", { class: "sr-only" });
  const link = h("a", { href: addressOf(session.id) }, h("span", { class: "dot", "aria-hidden": "true" }), name, mark);
  const more = h("button", { type: "button", class: "icon-button more", "aria-expanded": "false", onclick: () => toggle() }, icon("more"));
  const drawer = h("div", { class: "row-actions", hidden: true });
  const node = h("div", { class: "session" }, h("div", { class: "row" }, link, more), drawer);

  /** @param {boolean} [open] */
  const toggle = (open = drawer.hidden === true) => {
    drawer.hidden = !open;
    more.setAttribute("aria-expanded", String(open));
    if (open) drawer.replaceChildren(...choices().filter((one) => one instanceof Node));
    else if (drawer.contains(document.activeElement)) more.focus();
  };
  /** @param {{ pinned?: boolean, archived?: boolean }} changes */
  const move = (changes) => {
    const next = "archived" in changes ? node.nextElementSibling ?? node.previousElementSibling : node;
    toggle(false);
    void moveSession(session.id, changes).then(() => document.activeElement === document.body && next?.querySelector("a")?.focus());
  };
  const choices = () => [
    small("Rename", () => rename()),
    !session.archived && small(session.pinned ? "Unpin" : "Pin", () => move({ pinned: !session.pinned })),
    small(session.archived ? "Bring back" : "Archive", () => move({ archived: !session.archived })),
    small("Export", () => offerFiles()),
    small("Delete", () => confirm(), "danger"),
  ];
  const offerFiles = () => {
    const links = FILES.map(([format, word]) => h("a", { class: "button small", href: exportAddress(session.id, format), download: true, onclick: () => toggle(false) }, word));
    drawer.replaceChildren(h("span", {}, "Export this chat as"), ...links, small("Cancel", () => toggle(false)));
    links[0].focus();
  };
  const confirm = () => {
    const keep = small("Keep", () => toggle(false));
    drawer.replaceChildren(h("span", {}, "Delete this chat?"), small("Delete", () => void remove(session.id), "danger"), keep);
    keep.focus();
  };
  const rename = () => {
    toggle(false);
    const putBack = (/** @type {HTMLElement} */ row, /** @type {boolean} */ byKey) => {
      row.replaceWith(h("div", { class: "row" }, link, more));
      if (byKey) link.focus();
    };
    node.firstElementChild?.replaceWith(renameField(session, putBack));
    node.querySelector("input")?.select();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || drawer.hidden) return;
    event.preventDefault();
    toggle(false);
    more.focus();
  });

  return {
    node,
    update(item) {
      if (!("session" in item)) return;
      session = item.session;
      setText(name, session.name);
      link.title = session.name;
      more.setAttribute("aria-label", `More for ${session.name}`);
      const open = session.id === state.chat.session;
      if (open) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      const running = session.running || (open && state.chat.live !== null && !state.chat.live.ended);
      const unread = isUnread(session);
      node.dataset.running = String(running);
      node.dataset.unread = String(unread);
      setText(mark, running ? " is being answered" : unread ? " has a new answer" : "");
    },
  };
}

/**
 * A field in place of the row. Enter and leaving it rename, Escape does not.
 *
 * @param {Session} session
 * @param {(row: HTMLElement, byKey: boolean) => void} onDone  `byKey`: it was left with a key, and not for another place
 */
function renameField(session, onDone) {
  const input = h("input", { class: "field", value: session.name, "aria-label": "New name", maxlength: 120, dir: "auto" });
  const row = h("form", { class: "row" }, input);
  let done = false;
  const finish = (/** @type {boolean} */ keep, byKey = true) => {
    if (done) return;
    done = true;
    const name = input.value.trim();
    onDone(row, byKey);
    if (keep && name && name !== session.name) void renameSession(session.id, name);
  };
  row.addEventListener("submit", (event) => {
    event.preventDefault();
    finish(true);
  });
  input.addEventListener("blur", () => finish(true, false));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    finish(false);
  });
  return row;
}

/** @param {string} id */
async function remove(id) {
  const open = state.chat.session === id;
  if ((await deleteSession(id)) && open) location.hash = "";
}

function draw() {
  const found = items();
  reconcile(list, rows, found, (item) => item.key, create);
  list.dataset.empty = String(found.length === 0 && !archived);
}

/** The way between the chats and the archived ones, below the list. */
function createSwitch() {
  const button = h("button", { type: "button", class: "archive-switch" });
  const turn = async (/** @type {boolean} */ on) => {
    archived = on;
    setText(button, on ? "Back to the chats" : "Archived chats");
    button.setAttribute("aria-pressed", String(on));
    await showArchived(on);
    draw();
  };
  setText(button, "Archived chats");
  button.addEventListener("click", () => void turn(!archived));
  return button;
}

export function startSessions() {
  const way = createSwitch();
  list.after(way);
  byId("import", HTMLButtonElement).addEventListener("click", async () => (await loadPart("The import", () => import("./importing.js")))?.chooseChat());
  watch(["sessions", "archived", "chat", "live"], draw);
}
