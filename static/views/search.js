/** The search field of the side: what it finds anywhere, group by group, each hit as a way to where it is. */

/** @import { Found } from "../core/searching.js" */

import { ApiError } from "../core/api.js";
import { byId, h, setText } from "../core/dom.js";
import { loadStyle } from "../core/lazy.js";
import { asked, placesOf } from "../core/matching.js";
import { openDocument } from "../core/opened.js";
import { addressOf, settingsAddress } from "../core/route.js";
import { searchAll } from "../core/searching.js";

/** @typedef {keyof Found} Group */

const PAUSE_MS = 150;

/** The headings, in the order in which they stand. @type {Record<Group, string>} */
const NAMES = { chats: "Chats", messages: "Messages", documents: "Documents", memories: "Memories", library: "Library" };

const field = byId("search", HTMLInputElement);
const results = byId("results", HTMLElement);
const list = byId("sessions", HTMLElement);
const said = h("p", { class: "sr-only", role: "status" });

let timer = 0;
let running = new AbortController();
/** The hits are those of what stands in the field. */
let settled = true;
/** Enter was pressed before the hits were there. */
let hurried = false;

function onInput() {
  clearTimeout(timer);
  running.abort();
  hurried = false;
  const query = asked(field.value);
  list.hidden = query !== "";
  results.hidden = query === "";
  settled = query === "";
  if (query) timer = setTimeout(() => void run(query), PAUSE_MS);
  else tell();
}

/** @param {string} query */
async function run(query) {
  const own = (running = new AbortController());
  try {
    const found = await searchAll(query, own.signal);
    if (own.signal.aborted) return;
    settled = true;
    draw(query, found);
    if (hurried) ways()[0]?.click();
  } catch (error) {
    if (own.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    tell(error.message);
  }
}

/** Say something in place of hits. @param {string} [text] */
function tell(text = "") {
  results.replaceChildren(...(text ? [h("p", { class: "quiet" }, text)] : []));
  setText(said, text);
}

/**
 * @param {string} query
 * @param {Found} found
 */
function draw(query, found) {
  const groups = /** @type {Group[]} */ (Object.keys(NAMES)).filter((group) => found[group].items.length);
  if (!groups.length) return tell("Nothing was found.");
  results.replaceChildren(...groups.map((group) => section(group, query, found)));
  results.scrollTop = 0;
  const count = groups.reduce((sum, group) => sum + found[group].items.length, 0);
  setText(said, `${count}${groups.some((group) => found[group].more) ? " and more" : ""} found.`);
}

/**
 * @param {Group} group
 * @param {string} query
 * @param {Found} found
 */
function section(group, query, found) {
  const heading = h("h2", { id: `found-${group}`, class: "day" }, NAMES[group]);
  const node = h("div", { role: "group", "aria-labelledby": heading.id }, heading, ...hitsOf(group, query, found));
  if (found[group].more) node.append(createMore(group, query, node));
  return node;
}

/**
 * The way to all hits of a group, which takes their place.
 *
 * @param {Group} group
 * @param {string} query
 * @param {HTMLElement} node
 */
function createMore(group, query, node) {
  const problem = h("p", { class: "quiet", role: "alert" });
  const more = h("button", { type: "button", class: "more-hits", "aria-label": `More: ${NAMES[group]}` }, "More");
  more.addEventListener("click", async () => {
    const own = running;
    const before = node.querySelectorAll(".hit").length;
    try {
      const all = await searchAll(query, own.signal, group);
      if (own.signal.aborted) return;
      const focused = node.contains(document.activeElement);
      node.replaceChildren(...section(group, query, { ...all, [group]: { ...all[group], more: false } }).children);
      if (all[group].more) node.append(h("p", { class: "quiet" }, "There are more. Another word finds fewer."));
      const next = node.querySelectorAll(".hit")[before];
      if (focused && next instanceof HTMLElement) next.focus();
    } catch (error) {
      if (own.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      setText(problem, error.message);
      more.after(problem);
    }
  });
  return more;
}

/**
 * @param {Group} group
 * @param {string} query
 * @param {Found} found
 * @returns {HTMLElement[]}
 */
function hitsOf(group, query, { chats, messages, documents, memories, library }) {
  /** @type {Record<Group, () => HTMLElement[]>} */
  const made = {
    chats: () => chats.items.map(({ id, name }) => hit(addressOf(id), query, name)),
    messages: () => messages.items.map((one) => hit(addressOf(one.session_id, one.message_id), query, one.name, one.snippet)),
    documents: () => documents.items.map(({ id, title, snippet }) => hit(() => openDocument(id, title), query, title, snippet)),
    memories: () => memories.items.map(({ id, snippet, state }) => hit(settingsAddress("memories", id), query, "", snippet, state === "proposed" ? "Proposed" : "")),
    library: () => library.items.map((one) => hit(settingsAddress("library", one.source_id, one.path), query, one.path, one.snippet, whereOf(one))),
  };
  return made[group]();
}

/** The place of a passage in its file, and the folder that it is of. @param {import("../core/searching.js").FoundFile} file */
const whereOf = ({ source, path, heading, page }) => [source !== path && source, heading, page !== null && `page ${page}`].filter(Boolean).join(" · ");

/**
 * @param {string | (() => void)} way  an address, or what opens it
 * @param {string} query
 * @param {string} name
 * @param {string} [snippet]
 * @param {string} [about]
 */
function hit(way, query, name, snippet = "", about = "") {
  const parts = [
    name && h("span", { class: "name", dir: "auto" }, ...marked(name, query)),
    about && h("span", { class: "where", dir: "auto" }, about),
    snippet && h("span", { class: "snippet", dir: "auto" }, ...marked(snippet, query)),
  ];
  return typeof way === "string" ? h("a", { class: "hit", href: way }, ...parts) : h("button", { type: "button", class: "hit", onclick: way }, ...parts);
}

/**
 * The text with the words of the query marked.
 *
 * @param {string} text
 * @param {string} query
 * @returns {(string | HTMLElement)[]}
 */
function marked(text, query) {
  /** @type {(string | HTMLElement)[]} */
  const parts = [];
  let at = 0;
  for (const [start, end] of placesOf(text, query)) {
    parts.push(text.slice(at, start), h("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

/** All that can be gone to, in order. @returns {HTMLElement[]} */
const ways = () => [...results.querySelectorAll(".hit, .more-hits")].filter((one) => one instanceof HTMLElement);

/** @param {KeyboardEvent} event */
function onFieldKey(event) {
  if (event.isComposing || event.keyCode === 229 || !field.value) return;
  if (event.key === "Escape") {
    field.value = "";
    onInput();
  } else if (event.key === "ArrowDown") {
    ways()[0]?.focus();
  } else if (event.key === "Enter") {
    if (settled) ways()[0]?.click();
    else hurried = true;
  } else return;
  event.preventDefault();
}

/** @param {KeyboardEvent} event */
function onResultsKey(event) {
  const all = ways();
  const at = all.findIndex((one) => one === document.activeElement);
  /** @type {Record<string, HTMLElement | undefined>} */
  const places = { ArrowDown: all[at + 1] ?? all.at(-1), ArrowUp: all[at - 1] ?? field, Home: all[0], End: all.at(-1), Escape: field };
  const next = places[event.key];
  if (!next || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  next.focus();
}

/** @param {boolean} enter  whether Enter was pressed while this was loaded */
export async function startSearch(enter) {
  results.before(said);
  field.addEventListener("input", onInput);
  field.addEventListener("keydown", onFieldKey);
  results.addEventListener("keydown", onResultsKey);
  if (field.value) onInput(); // written before this was loaded
  hurried = enter;
  await loadStyle("search");
}
