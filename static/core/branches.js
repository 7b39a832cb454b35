/** The branches of the open chat: from one message to another beside it, and a copy as a chat of its own. Draws nothing. */

/** @import { Chat, Message } from "./types.js" */

import * as api from "./api.js";
import { load } from "./chat.js";
import { addressOf } from "./route.js";
import { isLive, set, state } from "./state.js";
import { tellTabs } from "./tabs.js";

/**
 * Where a message stands among those beside it.
 *
 * @param {Message} message
 * @returns {{ number: number, count: number, before: string | null, after: string | null }} `number` counts from 1
 */
export function placeOf({ id, siblings }) {
  const at = id === null ? -1 : siblings.indexOf(id);
  return { number: at + 1, count: siblings.length, before: siblings[at - 1] ?? null, after: at < 0 ? null : (siblings[at + 1] ?? null) };
}

/**
 * Show the branch through this message.
 *
 * @param {string} id
 * @returns {Promise<boolean>} whether it is shown now
 */
export async function switchTo(id) {
  const { chat } = state;
  const { session } = chat;
  if (!session || isLive() || chat.sending) return false;
  return attempt(async () => {
    await api.showBranch(session, id);
    if (state.chat !== chat) return;
    leaveTarget(chat);
    await load(chat);
    tellTabs({ kind: "run", session });
  });
}

/** A second click is not a wish for a second copy. */
let copying = false;

/**
 * Copy the chat down to this message, and open the copy.
 *
 * @param {Message} message
 */
export async function branchOff({ id }) {
  const { session } = state.chat;
  if (!session || id === null || copying) return false;
  copying = true;
  const copied = attempt(async () => {
    const { id: copy } = await api.fork(session, id);
    location.hash = addressOf(copy);
  });
  return copied.finally(() => (copying = false));
}

/** The address names a message that a search found: it may not be shown from now on. @param {Chat} chat */
export function leaveTarget(chat) {
  if (state.chat === chat && chat.session) history.replaceState(null, "", addressOf(chat.session));
}

/** @param {() => Promise<void>} action */
async function attempt(action) {
  set({ alert: "" });
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    set({ alert: error.message });
    return false;
  }
}
