/** Stored messages into the messages of an open chat. Pure: no call, no document. */

/** @import { Chat, HistoryPage, Message, StoredMessage } from "./types.js" */

import { newGiven, storedGiven } from "./given.js";
import { newWork, refreshAsk, storedWork } from "./work.js";

/**
 * A message that is not stored yet.
 *
 * @param {Partial<Message> & Pick<Message, "key" | "role">} given
 * @returns {Message}
 */
export const newMessage = (given) => ({ id: null, content: "", html: null, metadata: null, live: null, secret: false, work: newWork(), given: newGiven(), siblings: [], ...given });

/**
 * @param {StoredMessage} stored
 * @returns {Message}
 */
export function fromStored(stored) {
  const { id, role, content, html, metadata, parent_id: parent, siblings = [] } = stored;
  return newMessage({ key: id, id, role, content, html, metadata, work: storedWork(metadata), given: storedGiven(metadata), parent, siblings });
}

/**
 * @param {Message} message
 * @param {StoredMessage} stored
 */
function refresh(message, { content, html, metadata, parent_id: parent, siblings = [] }) {
  const { ask } = message.work;
  if (message.live?.gap && message.live.ended) message.live = null; // the history has what the stream could not tell again
  if (message.live) refreshAsk(message.work, metadata);
  else Object.assign(message, { work: storedWork(metadata), given: storedGiven(metadata) });
  if (ask && message.work.ask) message.work.ask.problem ||= ask.problem;
  return Object.assign(message, { content, html: message.live ? null : html, metadata, parent, siblings });
}

/**
 * Lay the newest page over what is shown. A message that is there already keeps its key, and so its place on the page.
 *
 * @param {Chat} chat
 * @param {HistoryPage} page
 */
export function mergePage(chat, page) {
  const known = new Map(chat.messages.map((message) => [message.id, message]));
  const fresh = page.history.map((stored) => {
    const old = known.get(stored.id);
    return old ? refresh(old, stored) : fromStored(stored);
  });
  const start = chat.messages.findIndex((message) => message.id !== null && message.id === fresh[0]?.id);
  if (start < 0) chat.hasMore = page.has_more_before;
  const before = page.has_more_before ? chat.messages.slice(0, Math.max(start, 0)) : []; // the rest may have been deleted
  chat.messages = withSecrets(chat.messages, [...before, ...fresh]);
}

/**
 * What no history has stays where it was: incognito questions, and the answers behind them.
 *
 * @param {Message[]} old
 * @param {Message[]} merged
 */
function withSecrets(old, merged) {
  let secret = false;
  old.forEach((message, at) => {
    if (message.role === "user") secret = message.secret;
    if (!secret || merged.includes(message)) return;
    const before = old[at - 1];
    const place = before ? merged.indexOf(before) + 1 || merged.length : 0; // what it followed may be on another branch now
    merged.splice(place, 0, message);
  });
  return merged;
}

/**
 * Whether the newest page ends with an answer or with how its run ended: no run is going then, for its question would be
 * the last message. A run that a decision began has no question: its card is the last, and decided.
 *
 * @param {HistoryPage} page
 */
export function isAnswered({ history }) {
  const last = history.at(-1);
  if (["approved", "denied"].includes(last?.metadata?.ask_user?.state ?? "")) return false;
  return !last || last.role === "assistant" || Boolean(last.metadata?.status ?? last.metadata?.failure);
}
