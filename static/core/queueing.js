/**
 * Sends what waits in a queue once its session is free: in order, and once over all tabs. What the session stands at is
 * asked of the server under a lock, so two tabs that see a run end at once send one message. Loaded with the first
 * message that waits. Draws nothing.
 */

/** @import { Queued } from "./queue.js" */

import * as api from "./api.js";
import { fromStored } from "./history.js";
import { changeQueued, dequeue, hold, holdOf, putFirst, readQueue, underWay } from "./queue.js";
import { stopAnswer } from "./running.js";
import { sendMessage } from "./sending.js";
import { refreshSessions } from "./sessions.js";
import { isLive, state, watch } from "./state.js";
import { tellTabs } from "./tabs.js";

/** The server may need a moment to see the end of a run that the page has seen, and longer to be there again. */
const AGAIN_MS = 500;
const AWAY_MS = 3000;

/** Looked at to learn whether a message whose sending broke off has arrived. */
const LOOK_BACK = 6;

/** The sessions that were seen running: their queues go on even when another chat is open. @type {Set<string>} */
const running = new Set();
let again = 0;

/** Send one now, in place of the answer that is being written. @param {string} id */
export function sendNow(id) {
  const { session } = state.chat;
  if (!session) return;
  putFirst(session, id);
  if (isLive()) void stopAnswer();
  else void goOn(session);
}

/**
 * Send the first of a session's queue, if its time has come.
 *
 * @param {string} session
 */
async function goOn(session) {
  if (underWay.has(session) || !readQueue(session).length) return;
  underWay.add(session);
  try {
    await alone(session, () => sendFirst(session));
  } finally {
    underWay.delete(session);
  }
}

/**
 * Without the Web Locks API (a page that is neither on this machine nor on HTTPS) only the tab with the focus sends.
 *
 * @param {string} session
 * @param {() => Promise<void>} work
 */
async function alone(session, work) {
  if (navigator.locks) await navigator.locks.request(`odysseus-queue-${session}`, { ifAvailable: true }, (lock) => (lock ? work() : undefined));
  else if (document.hasFocus()) await work();
}

/** @param {string} session */
async function sendFirst(session) {
  try {
    const item = readQueue(session)[0];
    if (!item || item.problem) return;
    const status = await api.streamStatus(session);
    if (status?.status === "streaming") return lookAgain(AGAIN_MS);
    const { history } = await api.history(session, LOOK_BACK);
    const last = history.at(-1);
    if (item.tried !== undefined && arrivedSince(item, history)) return void dequeue(session, item.id);
    if (!item.now && holdOf(last && fromStored(last))) return;
    changeQueued(session, item.id, { tried: last?.id ?? null });
    await send(session, item);
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    if (error.status === 0) lookAgain(AWAY_MS);
  }
}

/**
 * @param {string} session
 * @param {Queued} item
 */
async function send(session, item) {
  const here = state.chat.session === session;
  const problem = here ? await sendHere(item) : await sendAway(session, item);
  if (problem === null) dequeue(session, item.id);
  else changeQueued(session, item.id, { now: false, problem });
}

/**
 * @param {Queued} item
 * @returns {Promise<string | null>} why it was refused; empty when something else came first, null when it is sent
 */
async function sendHere({ text, files, wishes }) {
  const sent = await sendMessage(text, { files, wishes });
  return sent ? null : state.alert;
}

/**
 * To a chat that is not the open one. The run goes on without a listener.
 *
 * @param {string} session
 * @param {Queued} item
 * @returns {Promise<string | null>}
 */
async function sendAway(session, { text, files, wishes }) {
  try {
    const response = await api.send(session, { message: text, ...wishes, ...(files.length && { attachments: files.map(({ id }) => id) }) });
    await response.body?.cancel();
    tellTabs({ kind: "run", session });
    await refreshSessions();
    return null;
  } catch (error) {
    if (!(error instanceof api.ApiError) || error.status === 0) throw error;
    return error.message;
  }
}

/**
 * Whether a message that was sent without an answer of the server's is in the history.
 *
 * @param {Queued} item
 * @param {import("./types.js").StoredMessage[]} history
 */
function arrivedSince({ text, tried }, history) {
  const place = history.findIndex(({ id }) => id === tried);
  if (place < 0 && tried !== null) return false; // too much has come since to tell
  return history.slice(place + 1).some(({ role, content }) => role === "user" && content.trim() === text.trim());
}

/** @param {number} delay */
function lookAgain(delay) {
  clearTimeout(again);
  again = setTimeout(look, delay);
}

/** The open chat's queue goes on when nothing is on its way there. */
function look() {
  const { chat } = state;
  if (chat.session && chat.phase === "ready" && !chat.sending && !isLive() && !hold()) void goOn(chat.session);
}

/** Queues of chats that are not open go on when their run, which was seen going, has ended. */
function lookElsewhere() {
  for (const { id, running: runs } of state.sessions) {
    if (runs) running.add(id);
    else if (running.delete(id) && id !== state.chat.session) void goOn(id);
  }
}

export function startQueues() {
  watch(["chat", "live", "queue"], look);
  watch(["sessions"], lookElsewhere);
}
