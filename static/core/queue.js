/**
 * Messages that wait for the end of a run, per session, kept in the browser so that a reload and other tabs see them.
 * Storage that is full or forbidden only costs the keeping. Sends nothing.
 */

/** @import { Message, Upload } from "./types.js" */

import { isLive, state, tell } from "./state.js";
import { keepText, readValue } from "./storage.js";
import { endedEarly } from "./words.js";

/**
 * @typedef {object} Queued
 * @property {string} id
 * @property {string} text
 * @property {Upload[]} files
 * @property {Record<string, string | boolean>} wishes  how it is to be answered, as it was chosen when it was written
 * @property {boolean} [now]  wanted even though the last answer was stopped
 * @property {string | null} [tried]  the last message before it was sent for the first time; its fate is not known yet
 * @property {string} [problem]  why the server did not take it
 */

const PREFIX = "odysseus.queue.";
const WHAT = "The queue";

/** The sessions whose next message is being sent. @type {Set<string>} */
export const underWay = new Set();

/** What storage did not take, or must not hold. @type {Map<string, Queued[]>} */
const unkept = new Map();

/**
 * @param {string | null} session
 * @returns {Queued[]}
 */
export function readQueue(session) {
  if (!session) return [];
  const own = unkept.get(session);
  if (own) return own;
  const found = readValue(PREFIX + session, [], WHAT);
  return Array.isArray(found) ? found : [];
}

/**
 * @param {string} session
 * @param {Queued[]} items
 */
function keepQueue(session, items) {
  const unwritten = items.some(({ wishes }) => wishes.incognito === true);
  if (unwritten) unkept.set(session, items);
  else unkept.delete(session);
  if (!keepText(PREFIX + session, items.length && !unwritten ? JSON.stringify(items) : "", WHAT)) unkept.set(session, items);
  tell("queue");
}

/**
 * @param {string} session
 * @param {Omit<Queued, "id">} item
 */
export function enqueue(session, item) {
  const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
  keepQueue(session, [...readQueue(session), { ...item, id }]);
}

/**
 * @param {string} session
 * @param {string} id
 * @param {Partial<Queued>} changes
 */
export function changeQueued(session, id, changes) {
  keepQueue(session, readQueue(session).map((item) => (item.id === id ? { ...item, ...changes } : item)));
}

/**
 * @param {string} session
 * @param {string} id
 * @returns {Queued | null} what was taken out; null when it is gone already
 */
export function dequeue(session, id) {
  const items = readQueue(session);
  const found = items.find((item) => item.id === id) ?? null;
  if (found) keepQueue(session, items.filter((item) => item !== found));
  return found;
}

/**
 * Put one first, wanted at once.
 *
 * @param {string} session
 * @param {string} id
 */
export function putFirst(session, id) {
  const item = readQueue(session).find((one) => one.id === id);
  if (!item) return;
  const rest = readQueue(session).filter((one) => one.id !== id);
  keepQueue(session, [{ ...item, now: true, problem: "" }, ...rest]);
}

/** Forget what waited in a session that is gone. @param {string} session */
export const forgetQueue = (session) => keepQueue(session, []);

/** Another tab has changed a queue. */
export function hearQueues() {
  addEventListener("storage", ({ key }) => (key === null || key.startsWith(PREFIX)) && tell("queue"));
}

/**
 * Why a queue does not go on behind this message; empty when nothing is in its way.
 *
 * @param {Pick<Message, "role" | "metadata" | "work" | "live"> | undefined} last
 */
export function holdOf(last) {
  if (!last) return "";
  const { metadata, live, work } = last;
  if (metadata?.status === "stopped" || metadata?.stopped) return "Not sent: the answer was stopped.";
  if (endedEarly(metadata, live?.ended ? live.error : null)) return last.role === "user" ? "Not sent: the message before it was not answered." : "Not sent: the answer before it ended early.";
  if (work.ask?.state !== "pending") return "";
  return work.ask.kind === "approval" ? "Not sent: your decision is needed first." : "Not sent: the question above comes first.";
}

/** Why the open chat's queue stands still; empty when it moves. */
export function hold() {
  const first = readQueue(state.chat.session)[0];
  if (!first || isLive()) return "";
  return first.problem || (first.now ? "" : holdOf(state.chat.messages.at(-1)));
}

/** Whether what is written now belongs behind something else. */
export function mustWait() {
  const { session } = state.chat;
  if (!session) return false;
  return isLive() || underWay.has(session) || (readQueue(session).length > 0 && !hold());
}
