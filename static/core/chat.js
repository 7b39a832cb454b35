/** The open chat: loading it, sending to it, following its answer, stopping it. Draws nothing. */

/** @import { Chat, Live } from "./types.js" */

import { newLive } from "./answer.js";
import * as api from "./api.js";
import { forgetDraft, keepDraft } from "./drafts.js";
import { Follower } from "./follow.js";
import { fromStored, isAnswered, mergePage } from "./history.js";
import { currentRoute, isModelMissing } from "./models.js";
import { refreshSessions } from "./sessions.js";
import { isLive, newChat, set, state, tell } from "./state.js";
import { tellTabs } from "./tabs.js";

const PAGE = 50;
const NOT_STOPPED = "The answer could not be stopped.";

/** @type {Follower | null} */
let follower = null;
/** The loading of the open chat; a message sent meanwhile waits for it. */
let loading = Promise.resolve();
let keys = 0;

/** @param {Chat} chat */
const isOpen = (chat) => state.chat === chat;

/**
 * Open a session, or an empty chat. The stream of the chat left behind is let go; its run goes on.
 *
 * @param {string | null} session
 * @param {string | null} [target]  a message to show
 */
export async function openChat(session, target = null) {
  follower?.close();
  follower = null;
  const chat = { ...newChat(session), target };
  set({ chat, alert: "" });
  void refreshSessions(); // the run left behind shows in the list from now on
  if (session) await (loading = load(chat));
}

/**
 * Bring the chat to what the server has: its last messages, and the answer that is being written, if any.
 *
 * @param {Chat} chat
 */
async function load(chat) {
  const session = chat.session;
  if (!session) return;
  try {
    let page = await api.history(session, PAGE);
    const status = isAnswered(page) ? null : await api.streamStatus(session);
    const same = status?.status === "streaming" && status.run_id === page.history.at(-1)?.metadata?.run_id;
    if (status && !same) page = await api.history(session, PAGE); // something ended or began between the two calls
    // What is being sent would stand twice: here, and in its own place once it is accepted.
    if (!isOpen(chat) || isLive() || (chat.sending && chat.phase === "ready")) return;
    chat.live = null;
    mergePage(chat, page);
    chat.phase = "ready";
    const stored = chat.messages.some((message) => message.role === "assistant" && message.metadata?.run_id === status?.run_id);
    if (status?.status === "streaming" && !stored) follow(chat, newLive(session, status.run_id), null);
    tell("chat");
    if (chat.target) await reach(chat, chat.target);
  } catch (error) {
    refuse(chat, error);
  }
}

/**
 * @param {Chat} chat
 * @param {unknown} error
 */
function refuse(chat, error) {
  if (!(error instanceof api.ApiError)) throw error;
  if (!isOpen(chat)) return;
  if (chat.messages.length) return set({ alert: error.message });
  chat.phase = "failed";
  chat.gone = error.status === 404;
  chat.problem = chat.gone ? "This chat does not exist any more." : error.message;
  tell("chat");
}

/** Look again, after a time away or news from another tab. */
export async function syncChat() {
  const { chat } = state;
  if (chat.sending || chat.phase === "loading") return;
  if (isLive()) follower?.resume();
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

/**
 * Send a message to the open chat. True once the server has accepted it. A message is sent once; when the connection
 * breaks before the answer's first byte, the server is asked whether it has it.
 *
 * @param {string} text
 * @param {() => Promise<void>} [prepare]  done when nothing stands in the way any more; it may throw ApiError
 * @returns {Promise<boolean>}
 */
export async function sendMessage(text, prepare) {
  const { chat } = state;
  if (chat.sending || isLive() || !text.trim()) return false;
  chat.sending = true;
  set({ alert: "" });
  tell("chat");
  try {
    await loading;
    if (!isOpen(chat) || chat.phase !== "ready" || isLive()) return false;
    if (await isModelMissing()) {
      set({ alert: "Install the embedded model or add an endpoint first. Your message is kept." });
      return false;
    }
    await prepare?.();
    const session = chat.session ?? (await createSession(chat, text));
    const response = await api.send(session, text, currentRoute());
    accept(chat, session, text, response);
    return true;
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    if (error.status === 0 && (await arrived(chat, text))) return true;
    if (isOpen(chat)) set({ alert: error.message });
    return false;
  } finally {
    chat.sending = false;
    if (isOpen(chat)) tell("chat");
  }
}

/**
 * @param {Chat} chat
 * @param {string} draft
 * @returns {Promise<string>}
 */
async function createSession(chat, draft) {
  const { id } = await api.createSession(currentRoute());
  chat.session = id;
  keepDraft(null, "");
  keepDraft(id, draft);
  if (isOpen(chat)) history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  await refreshSessions();
  return id;
}

/**
 * @param {Chat} chat
 * @param {string} session
 * @param {string} text
 * @param {Response} response
 */
function accept(chat, session, text, response) {
  forgetDraft(session, text);
  tellTabs({ kind: "run", session });
  if (!isOpen(chat)) return void response.body?.cancel();
  chat.messages.push({ key: `new-${(keys += 1)}`, id: null, role: "user", content: text, html: null, metadata: null, live: null });
  follow(chat, newLive(session, api.runIdOf(response)), response);
  void refreshSessions();
}

/**
 * Whether a message whose sending broke off has reached the server all the same.
 *
 * @param {Chat} chat
 * @param {string} text
 */
async function arrived(chat, text) {
  if (!chat.session) return false;
  try {
    const status = await api.streamStatus(chat.session);
    if (status?.status !== "streaming" || status.query !== text.trim()) return false;
  } catch (error) {
    if (error instanceof api.ApiError) return false;
    throw error;
  }
  forgetDraft(chat.session, text);
  chat.sending = false;
  await load(chat);
  return true;
}

/**
 * Show the answer of a run as the chat's last message and keep it connected.
 *
 * @param {Chat} chat
 * @param {Live} live
 * @param {Response | null} response
 */
function follow(chat, live, response) {
  chat.live = live;
  chat.messages.push({ key: `run-${live.runId}`, id: null, role: "assistant", content: "", html: null, metadata: null, live });
  follower?.close();
  let { link } = live;
  const onChange = () => {
    if (!isOpen(chat)) return;
    if (link !== live.link && live.link === "open") calm();
    link = live.link;
    tell("live");
  };
  follower = new Follower(live, {
    onChange,
    onEnd: () => finish(chat, live),
    onGone: () => void forget(chat),
  });
  if (document.visibilityState === "hidden") follower.pause();
  tell("chat", "live");
  void follower.start(response);
}

/**
 * The run has ended: its record and ids go to the two messages it belongs to.
 *
 * @param {Chat} chat
 * @param {Live} live
 */
function finish(chat, live) {
  const answer = chat.messages.find((message) => message.live === live);
  const question = chat.messages.findLast((message) => message.role === "user");
  const record = live.terminal;
  if (question) question.id ??= record?.user_message_id ?? null;
  if (answer) {
    Object.assign(answer, { id: live.savedId ?? record?.message_id ?? null, content: live.text, metadata: record });
    const empty = !answer.id && !live.blocks.length && !live.thinking;
    if (empty && question) {
      question.metadata = record ?? { status: "failed", failure: live.error };
      chat.messages = chat.messages.filter((message) => message !== answer);
    }
  }
  if (isOpen(chat)) calm();
  tell("chat", "live");
  tellTabs({ kind: "run", session: live.session });
  void refreshSessions();
  const replaced = record?.stop_reason === "replaced"; // another tab has sent the next message
  if (replaced || !question?.id) void load(chat);
}

/**
 * The server no longer has the run: the history tells how it ended.
 *
 * @param {Chat} chat
 */
async function forget(chat) {
  if (!isOpen(chat)) return;
  if (chat.live) chat.live.ended = true;
  calm();
  await load(chat);
  tell("live");
  void refreshSessions();
}

/** Stop the open chat's answer. The text so far stays. */
export async function stopAnswer() {
  const { live } = state.chat;
  if (!live || live.ended || live.stopping || !live.runId) return;
  live.stopping = true;
  tell("live");
  try {
    await api.stop(live.session, live.runId);
    calm();
    follower?.resume(); // the end must be heard here even if this tab had given way
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    live.stopping = false;
    tell("live");
    set({ alert: `${NOT_STOPPED} ${error.message}` });
  }
}

/** Things work again: a stop that failed is not worth an alert any more. */
function calm() {
  if (state.alert.startsWith(NOT_STOPPED)) set({ alert: "" });
}

/** The tab is hidden for a while: let the stream go. */
export function pauseChat() {
  follower?.pause();
}
