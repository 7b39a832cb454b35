/** The list of sessions: reading it, renaming, pinning, putting away, deleting. */

/** @import { Session } from "./types.js" */

import * as api from "./api.js";
import { forgetQueue } from "./queue.js";
import { set, state } from "./state.js";
import { tellTabs } from "./tabs.js";

const WATCH_MS = 3000;
const HIDDEN_MS = 5000;

let watching = 0;
let showsArchived = false;

/** Read the list again. While an answer is being written that is not followed here, look again later. */
export async function refreshSessions() {
  clearTimeout(watching);
  try {
    const sessions = await api.listSessions();
    const { session } = state.chat;
    const away = session !== null && !sessions.some(({ id }) => id === session);
    set(showsArchived || away ? { sessions, archived: await api.listSessions("", undefined, true) } : { sessions });
  } catch (error) {
    report(error);
  }
  const hidden = document.visibilityState === "hidden"; // a hidden tab follows nothing
  const unseen = state.sessions.some(({ id, running }) => running && (hidden || id !== state.chat.session));
  clearTimeout(watching);
  if (unseen) watching = setTimeout(refreshSessions, hidden ? HIDDEN_MS : WATCH_MS);
}

/** Have the archived sessions read with the others, or not any more. @param {boolean} shown */
export async function showArchived(shown) {
  showsArchived = shown;
  await refreshSessions();
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
    const renamed = (/** @type {Session} */ known) => (known.id === id ? { ...known, name: session.name } : known);
    set({ sessions: state.sessions.map(renamed), archived: state.archived.map(renamed) });
    tellTabs({ kind: "sessions" });
  } catch (error) {
    report(error);
  }
}

/**
 * Pin a session, put it away, or take that back.
 *
 * @param {string} id
 * @param {{ pinned?: boolean, archived?: boolean }} changes
 */
export async function moveSession(id, changes) {
  try {
    await api.patchSession(id, changes);
    tellTabs({ kind: "sessions" });
  } catch (error) {
    report(error);
  }
  await refreshSessions();
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
  const others = (/** @type {Session} */ session) => session.id !== id;
  set({ sessions: state.sessions.filter(others), archived: state.archived.filter(others) });
  tellTabs({ kind: "sessions" });
  return true;
}
