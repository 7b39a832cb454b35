/** Taking back what stands in the open chat: a message deleted, changes of files undone. Draws nothing. */

/** @import { Chat, Message } from "./types.js" */

import * as api from "./api.js";
import { load, syncChat } from "./chat.js";
import { questionOf } from "./sending.js";
import { isLive, set, state, tell } from "./state.js";
import { tellTabs } from "./tabs.js";

/**
 * Whether the question of this message is there, to be answered again.
 *
 * @param {Message} message
 */
export function hasQuestion(message) {
  const { chat } = state;
  return chat.messages.includes(message) && (questionOf(chat, message) !== null || chat.hasMore);
}

/**
 * Remove a message at the server and here. Throws ApiError.
 *
 * @param {Chat} chat
 * @param {Message} message
 */
async function remove(chat, message) {
  if (!chat.session || message.id === null) return;
  await api.deleteMessages(chat.session, [message.id]);
  chat.messages = chat.messages.filter((one) => one !== message);
  if (chat.live?.ended) chat.live = null; // what the status line said was about an answer that may be gone
  tellTabs({ kind: "run", session: chat.session });
  if (state.chat === chat) tell("chat", "live");
  await load(chat); // what followed hangs on another message, and one beside it may be shown
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
  return attempt(() => remove(chat, message));
}

/**
 * Whether the open chat ends with this message, and nothing is on its way.
 *
 * @param {Message} message
 */
export const isLast = (message) => state.chat.messages.at(-1) === message && !isLive() && !state.chat.sending;

/** Whether it is the newest answer of the open chat. @param {Message} message */
export const isLastAnswer = (message) => state.chat.messages.findLast(({ role }) => role === "assistant") === message;

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
