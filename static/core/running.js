/** The answer that is being received in the open chat: following it, its end, stopping it. Draws nothing. */

/** @import { Chat, Live, Message } from "./types.js" */

import { endLive } from "./answer.js";
import * as api from "./api.js";
import { Follower } from "./follow.js";
import { newMessage } from "./history.js";
import { refreshSessions } from "./sessions.js";
import { set, state, tell } from "./state.js";
import { tellTabs } from "./tabs.js";

const NOT_STOPPED = "The answer could not be stopped.";

/** @type {Follower | null} */
let follower = null;

/** @param {Chat} chat */
const isOpen = (chat) => state.chat === chat;

/**
 * Show the answer of a run as the chat's last message and keep it connected.
 *
 * @param {Chat} chat
 * @param {Live} live
 * @param {Response | null} response  a stream that is open already
 * @param {(chat: Chat) => Promise<void>} reload  reads the chat's history again
 */
export function follow(chat, live, response, reload) {
  chat.live = live;
  chat.messages.push(newMessage({ key: `run-${live.runId}`, role: "assistant", live, work: live.work, given: live.given }));
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
    onEnd: () => finish(chat, live, reload),
    onGone: () => void forget(chat, reload),
  });
  if (document.visibilityState === "hidden") follower.pause();
  tell("chat", "live");
  void follower.start(response);
}

/**
 * The question right before an answer. An answer that a decision began has none.
 *
 * @param {Chat} chat
 * @param {Message | undefined} answer
 */
function questionOf(chat, answer) {
  const before = answer && chat.messages[chat.messages.indexOf(answer) - 1];
  return before?.role === "user" ? before : null;
}

/**
 * The run has ended: its record and ids go to the messages it belongs to.
 *
 * @param {Chat} chat
 * @param {Live} live
 * @param {(chat: Chat) => Promise<void>} reload
 */
function finish(chat, live, reload) {
  const answer = chat.messages.find((message) => message.live === live);
  const question = questionOf(chat, answer);
  const record = live.terminal;
  if (question) question.id ??= record?.user_message_id ?? null;
  if (answer) {
    Object.assign(answer, { id: live.savedId ?? record?.message_id ?? null, content: live.text, metadata: record });
    const empty = !answer.id && !live.blocks.length && !live.thinking && !live.work.rows.length;
    if (empty && live.place === "again") {
      set({ alert: (record?.failure ?? live.error)?.message ?? "" }); // the history shows the answer before
    } else if (empty && question) {
      question.metadata = record ?? { status: "failed", failure: live.error };
      chat.messages = chat.messages.filter((message) => message !== answer);
    } else if (empty) {
      set({ alert: (record?.failure ?? live.error)?.message ?? "" }); // a decision's run that came to nothing has no place else
    }
  }
  if (isOpen(chat)) calm();
  tell("chat", "live");
  tellTabs({ kind: "run", session: live.session });
  void refreshSessions();
  const replaced = record?.stop_reason === "replaced"; // another tab has sent the next message
  if (replaced || live.place || live.gap || !question?.id) void reload(chat);
}

/**
 * The server no longer has the run: the history tells how it ended.
 *
 * @param {Chat} chat
 * @param {(chat: Chat) => Promise<void>} reload
 */
async function forget(chat, reload) {
  if (!isOpen(chat)) return;
  if (chat.live) endLive(chat.live);
  calm();
  await reload(chat);
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

/** Be connected to the run again, now. */
export function resumeRun() {
  follower?.resume();
}

/** The tab is hidden for a while: let the stream go. */
export function pauseChat() {
  follower?.pause();
}

/** Another chat is opened: let the stream go for good; the run goes on. */
export function leaveRun() {
  follower?.close();
  follower = null;
}
