/** The list of sessions: reading it, renaming, deleting, searching. */

/** @import { SearchHit, Session } from "./types.js" */

import * as api from "./api.js";
import { forgetQueue } from "./queue.js";
import { set, state } from "./state.js";
import { tellTabs } from "./tabs.js";

const WATCH_MS = 3000;

let watching = 0;

/** Read the list again. While another session's answer is being written, look again later. */
export async function refreshSessions() {
  clearTimeout(watching);
  try {
    set({ sessions: await api.listSessions() });
  } catch (error) {
    report(error);
  }
  const elsewhere = state.sessions.some((session) => session.running && session.id !== state.chat.session);
  if (elsewhere && document.visibilityState === "visible") watching = setTimeout(refreshSessions, WATCH_MS);
}

/** @param {unknown} error */
function report(error) {
  if (!(error instanceof api.ApiError)) throw error;
  set({ alert: error.message });
}

/**
 * @param {string} id
 * @param {string} name
 */
export async function renameSession(id, name) {
  try {
    const session = await api.patchSession(id, { name });
    set({ sessions: state.sessions.map((known) => (known.id === id ? { ...known, name: session.name } : known)) });
    tellTabs({ kind: "sessions" });
  } catch (error) {
    report(error);
  }
}

/**
 * @param {string} id
 * @returns {Promise<boolean>} whether it is gone
 */
export async function deleteSession(id) {
  try {
    await api.deleteSession(id);
  } catch (error) {
    report(error);
    return false;
  }
  forgetQueue(id);
  set({ sessions: state.sessions.filter((session) => session.id !== id) });
  tellTabs({ kind: "sessions" });
  return true;
}

/**
 * Sessions by name, and messages by their words.
 *
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<{ sessions: Session[], hits: SearchHit[] }>}
 */
export async function searchEverywhere(query, signal) {
  const [sessions, hits] = await Promise.all([api.listSessions(query, signal), api.search(query, signal)]);
  return { sessions, hits };
}
