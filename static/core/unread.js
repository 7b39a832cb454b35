/**
 * Which chats have got an answer that nobody has seen: what was last seen of each is kept in the browser. A chat is seen
 * while it is open in a tab that is shown. Storage that is full or forbidden only costs the marks.
 */

/** @import { Session } from "./types.js" */

import { state, tell, watch } from "./state.js";
import { keepText } from "./storage.js";

const KEY = "odysseus.seen";

/** When the last message that was seen of a session came. @type {Record<string, number>} */
let seen = {};

/** @param {Session} session */
const lastOf = ({ last_message_at: last }) => (typeof last === "string" ? Date.parse(last) : (last ?? 0) * 1000);

function read() {
  try {
    seen = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch (error) {
    console.warn("The unread marks cannot be read.", error); // what this tab knows of them stays
  }
}

/** @param {Session} session */
const isShown = ({ id }) => id === state.chat.session && document.visibilityState === "visible";

/** @param {Session} session */
export const isUnread = (session) => !session.running && !isShown(session) && lastOf(session) > (seen[session.id] ?? Infinity);

export const unread = () => state.sessions.filter(isUnread);

/** Read again what other tabs have seen. */
export const readSeen = read;

/** What is shown is seen; chats that are gone are forgotten, and what was never opened here counts as seen. */
function note() {
  if (!state.sessions.length) return;
  const next = Object.fromEntries(state.sessions.map((session) => [session.id, isShown(session) ? lastOf(session) : (seen[session.id] ?? lastOf(session))]));
  if (JSON.stringify(next) === JSON.stringify(seen)) return;
  seen = next;
  keepText(KEY, JSON.stringify(seen), "The list of unread marks");
}

/** To be started before those that draw. */
export function startUnread() {
  read();
  watch(["sessions", "chat"], note);
  addEventListener("storage", ({ key }) => {
    if (key !== KEY) return;
    read();
    tell("sessions");
  });
}
