/** The search field over the sessions: names and messages, as links to where they are. */

/** @import { SearchHit, Session } from "../core/types.js" */

import { ApiError } from "../core/api.js";
import { byId, h } from "../core/dom.js";
import { addressOf } from "../core/route.js";
import { searchEverywhere } from "../core/sessions.js";

const PAUSE_MS = 150;

const field = byId("search", HTMLInputElement);
const results = byId("results", HTMLElement);
const list = byId("sessions", HTMLElement);

let timer = 0;
let running = new AbortController();

function onInput() {
  clearTimeout(timer);
  running.abort();
  const query = field.value.trim();
  list.hidden = query !== "";
  results.hidden = query === "";
  if (query) timer = setTimeout(() => void run(query), PAUSE_MS);
  else results.replaceChildren();
}

/** @param {string} query */
async function run(query) {
  const own = (running = new AbortController());
  try {
    const { sessions, hits } = await searchEverywhere(query, own.signal);
    if (!own.signal.aborted) draw(query, sessions, hits);
  } catch (error) {
    if (own.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    results.replaceChildren(h("p", { class: "quiet" }, error.message));
  }
}

/**
 * @param {string} query
 * @param {Session[]} sessions
 * @param {SearchHit[]} hits
 */
function draw(query, sessions, hits) {
  const names = sessions.map((session) => h("a", { class: "hit", href: addressOf(session.id) }, h("span", { class: "name", dir: "auto" }, ...marked(session.name, query))));
  const messages = hits.map((hit) =>
    h(
      "a",
      { class: "hit", href: addressOf(hit.session_id, hit.message_id) },
      h("span", { class: "name", dir: "auto" }, hit.name),
      h("span", { class: "snippet", dir: "auto" }, ...marked(hit.snippet, query)),
    ),
  );
  results.replaceChildren(
    ...(names.length ? [h("h2", { class: "day" }, "Chats"), ...names] : []),
    ...(messages.length ? [h("h2", { class: "day" }, "Messages"), ...messages] : []),
  );
  if (!results.childElementCount) results.append(h("p", { class: "quiet" }, "Nothing was found."));
}

/**
 * The text with the words of the query marked.
 *
 * @param {string} text
 * @param {string} query
 * @returns {(string | HTMLElement)[]}
 */
function marked(text, query) {
  const words = query.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${words.join("|")})`, "giu"));
  return parts.map((part, index) => (index % 2 ? h("mark", {}, part) : part));
}

export function startSearch() {
  field.addEventListener("input", onInput);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !field.value) return;
    event.preventDefault();
    field.value = "";
    onInput();
  });
  if (field.value) onInput(); // written before this was loaded
}
