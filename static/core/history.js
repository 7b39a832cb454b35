/** Stored messages into the messages of an open chat. Pure: no call, no document. */

/** @import { Chat, HistoryPage, Message, StoredMessage } from "./types.js" */

/**
 * @param {StoredMessage} stored
 * @returns {Message}
 */
export function fromStored(stored) {
  const { id, role, content, html, metadata } = stored;
  return { key: id, id, role, content, html, metadata, live: null };
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
    if (!old) return fromStored(stored);
    return Object.assign(old, { content: stored.content, html: old.live ? null : stored.html, metadata: stored.metadata });
  });
  const start = chat.messages.findIndex((message) => message.id !== null && message.id === fresh[0]?.id);
  if (start < 0) chat.hasMore = page.has_more_before;
  const before = page.has_more_before ? chat.messages.slice(0, Math.max(start, 0)) : []; // the rest may have been deleted
  chat.messages = [...before, ...fresh];
}

/**
 * Whether the newest page ends with an answer or with how its run ended: no run is going then, for its question would be
 * the last message.
 *
 * @param {HistoryPage} page
 */
export function isAnswered({ history }) {
  const last = history.at(-1);
  return !last || last.role === "assistant" || Boolean(last.metadata?.status ?? last.metadata?.failure);
}
