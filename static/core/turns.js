/** Taking back what stands in the open chat: a message deleted, a turn asked again or edited. Draws nothing. */

/** @import { Chat, Message, Upload } from "./types.js" */

import * as api from "./api.js";
import { loadEarlier, syncChat } from "./chat.js";
import { sendMessage } from "./sending.js";
import { isLive, set, state, tell } from "./state.js";
import { tellTabs } from "./tabs.js";

/**
 * A question and the answer right behind it, found by either.
 *
 * @param {Chat} chat
 * @param {Message} message
 * @returns {{ question: Message | null, answer: Message | null }}
 */
function turnOf(chat, message) {
  const at = chat.messages.indexOf(message);
  const [first, second] = message.role === "user" ? [message, chat.messages[at + 1]] : [chat.messages[at - 1], message];
  return { question: first?.role === "user" ? first : null, answer: second?.role === "assistant" ? second : null };
}

/**
 * Whether the question of this message is there, to be asked again.
 *
 * @param {Message} message
 */
export function hasQuestion(message) {
  const { chat } = state;
  return turnOf(chat, message).question !== null || (chat.hasMore && chat.messages[0] === message);
}

/**
 * Remove messages at the server and here. Throws ApiError.
 *
 * @param {Chat} chat
 * @param {(Message | null)[]} messages
 */
async function remove(chat, messages) {
  const ids = messages.flatMap((message) => message?.id ?? []);
  if (!chat.session || !ids.length) return;
  await api.deleteMessages(chat.session, ids);
  chat.messages = chat.messages.filter((message) => !messages.includes(message));
  if (chat.live?.ended) chat.live = null; // what the status line said was about an answer that may be gone
  tellTabs({ kind: "run", session: chat.session });
  if (state.chat === chat) tell("chat", "live");
}

/**
 * The whole turn of a message; its question may stand on the page of messages before.
 *
 * @param {Chat} chat
 * @param {Message} message
 */
async function wholeTurn(chat, message) {
  if (!turnOf(chat, message).question && chat.hasMore) await loadEarlier();
  return turnOf(chat, message);
}

/**
 * A refusal is said; the messages may be others by now, so they are read again.
 *
 * @param {() => Promise<void>} action
 * @returns {Promise<boolean>} whether it was done
 */
async function attempt(action) {
  set({ alert: "" });
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    set({ alert: error.message });
    if (error.status) void syncChat();
    return false;
  }
}

/**
 * Delete one message.
 *
 * @param {Message} message
 */
export async function deleteMessage(message) {
  const { chat } = state;
  return attempt(() => remove(chat, [message]));
}

/**
 * Ask the question of this message again, as a new turn in place of this one.
 *
 * @param {Message} message
 * @param {(text: string, files: Upload[]) => void} keep  gets the question when its turn is gone and the new one was not accepted
 * @returns {Promise<boolean>} whether the server has accepted it
 */
export async function askAgain(message, keep) {
  const { chat } = state;
  const { question, answer } = await wholeTurn(chat, message);
  if (!question) return false;
  let removed = false;
  const prepare = async () => {
    await remove(chat, [question, answer]);
    removed = true;
  };
  const sent = await sendMessage(question.content, { prepare, files: question.given.files });
  if (!sent && removed && state.chat === chat) keep(question.content, question.given.files);
  return sent;
}

/**
 * Take the turn of this message back, to write its question anew.
 *
 * @param {Message} message
 * @returns {Promise<Message | null>} the question; null when the turn could not be taken back
 */
export async function takeBack(message) {
  const { chat } = state;
  const { question, answer } = await wholeTurn(chat, message);
  if (!question) return null;
  const done = await attempt(() => remove(chat, [question, answer]));
  return done && state.chat === chat ? question : null;
}

/**
 * Whether the open chat ends with this message, and nothing is on its way.
 *
 * @param {Message} message
 */
export const isLast = (message) => state.chat.messages.at(-1) === message && !isLive() && !state.chat.sending;

/** The run an answer came from. @param {Pick<Message, "metadata" | "live">} message */
export const runOf = (message) => message.metadata?.run_id ?? message.live?.runId ?? "";

/**
 * Put the files back as they were before an answer.
 *
 * @param {Message} message
 * @returns {Promise<{ text: string, done: boolean }>} what came of it, in words
 */
export async function undoChanges(message) {
  try {
    const { files = [] } = await api.undo(runOf(message));
    return { text: files.length ? `Undone: ${files.join(", ")}.` : "There was nothing to undo.", done: true };
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    return { text: error.message, done: false };
  }
}
