/** The open chat: loading it, bringing it up to date, reading back in it. Draws nothing. */

/** @import { Chat } from "./types.js" */

import { newLive } from "./answer.js";
import * as api from "./api.js";
import { saveDraft } from "./drafts.js";
import { fromStored, isAnswered, mergePage, newMessage } from "./history.js";
import { follow, leaveRun, resumeRun } from "./running.js";
import { refreshSessions } from "./sessions.js";
import { isLive, newChat, set, state, tell } from "./state.js";
import { isUsed } from "./uses.js";

const PAGE = 50;

let loading = Promise.resolve();

/** The loading of the open chat; what is sent meanwhile waits for it. */
export const loaded = () => loading;

/** @param {Chat} chat */
const isOpen = (chat) => state.chat === chat;

/**
 * Open a session, or an empty chat. The stream of the chat left behind is let go; its run goes on.
 *
 * @param {string | null} session
 * @param {string | null} [target]  a message to show
 */
export async function openChat(session, target = null) {
  leaveRun();
  const chat = { ...newChat(session), target };
  set({ chat, alert: "" });
  void refreshSessions(); // the run left behind shows in the list from now on
  if (session) await (loading = target ? loadAt(chat, session, target) : load(chat));
}

/**
 * Load the branch that a message is on.
 *
 * @param {Chat} chat
 * @param {string} session
 * @param {string} target
 */
async function loadAt(chat, session, target) {
  let problem = "";
  try {
    await api.showBranch(session, target);
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    problem = error.status === 409 ? error.message : ""; // any other is told by what is loaded
  }
  await load(chat);
  if (problem && isOpen(chat)) set({ alert: problem });
}

/**
 * Bring the chat to what the server has: its last messages, and the answer that is being written, if any.
 *
 * @param {Chat} chat
 */
export async function load(chat) {
  const session = chat.session;
  if (!session) return;
  try {
    let page = await api.history(session, PAGE);
    const secret = isUsed("incognito"); // its questions are in no history
    const status = isAnswered(page) && !secret ? null : await api.streamStatus(session);
    const same = status?.status === "streaming" && status.run_id === page.history.at(-1)?.metadata?.run_id;
    if (status && !same) page = await api.history(session, PAGE); // something ended or began between the two calls
    // What is being sent would stand twice: here, and in its own place once it is accepted.
    if (!isOpen(chat) || isLive() || (chat.sending && chat.phase === "ready")) return;
    chat.live = null;
    mergePage(chat, page);
    chat.phase = "ready";
    const stored = chat.messages.some((message) => message.role === "assistant" && message.metadata?.run_id === status?.run_id);
    const going = status?.status === "streaming" && !stored ? status : null;
    if (going && secret && isAnswered(page)) showAsked(chat, going);
    if (going) follow(chat, newLive(session, going.run_id, "branch"), null, load);
    tell("chat");
    if (chat.target) await reach(chat, chat.target);
  } catch (error) {
    refuse(chat, error);
  }
}

/**
 * Show the question of an incognito run once more: only the run knows it.
 *
 * @param {Chat} chat
 * @param {import("./types.js").StreamStatus} run
 */
function showAsked(chat, { run_id: id, query }) {
  const last = chat.messages.at(-1);
  if (query && !(last?.secret && last.content === query)) chat.messages.push(newMessage({ key: `asked-${id}`, role: "user", content: query, secret: true }));
}

/**
 * @param {Chat} chat
 * @param {unknown} error
 */
function refuse(chat, error) {
  if (!(error instanceof api.ApiError)) throw error;
  if (!isOpen(chat)) return;
  chat.gone = error.status === 404;
  if (chat.gone && chat.session) saveDraft(chat.session);
  const problem = chat.gone ? "This chat does not exist any more." : error.message;
  if (chat.messages.length) return set({ alert: chat.gone ? `${problem} What you write is kept for a new one.` : problem });
  Object.assign(chat, { phase: "failed", problem });
  tell("chat");
}

/** Look again, after a time away or news from another tab. */
export async function syncChat() {
  const { chat } = state;
  if (chat.sending || chat.phase === "loading") return;
  if (isLive()) resumeRun();
  else await load(chat);
}

/** Put the page of messages before the first one in front. */
export async function loadEarlier() {
  const { chat } = state;
  const first = chat.messages[0]?.id;
  if (!chat.session || !first || !chat.hasMore || chat.loadingEarlier) return;
  chat.loadingEarlier = true;
  tell("chat");
  try {
    const page = await api.history(chat.session, PAGE, first);
    const known = new Set(chat.messages.map((message) => message.id));
    chat.messages = [...page.history.filter(({ id }) => !known.has(id)).map(fromStored), ...chat.messages];
    chat.hasMore = page.has_more_before;
  } catch (error) {
    refuse(chat, error);
    chat.hasMore = false;
  } finally {
    chat.loadingEarlier = false;
    if (isOpen(chat)) tell("chat");
  }
}

/**
 * Load back to a message; the transcript shows it as soon as it is there.
 *
 * @param {Chat} chat
 * @param {string} id
 */
async function reach(chat, id) {
  while (isOpen(chat) && chat.hasMore && !chat.messages.some((message) => message.id === id)) await loadEarlier();
}

/** Bring a message of the open chat into view, loading back to it. @param {string} id */
export async function showMessage(id) {
  const { chat } = state;
  chat.target = id;
  await reach(chat, id);
  if (isOpen(chat)) tell("chat");
}
