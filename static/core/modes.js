/** How the open chat works: chat or agent, plans first or not, searches the web or not, and in which folder. */

/** @import { Mode } from "./types.js" */

import * as api from "./api.js";
import { currentSession, set, state, tell } from "./state.js";
import { keepText, readText } from "./storage.js";
import { tellTabs } from "./tabs.js";

const PLAN = "odysseus.plan-mode.";
const WEB = "odysseus.web-search.";
const MODE = "odysseus.mode";
const WHAT = "A setting";

/** Storage that is full or forbidden only costs the keeping, so what is set here stands beside it. @type {Map<string, string>} */
const kept = new Map();

/** @param {string} key */
const read = (key) => kept.get(key) ?? readText(key, WHAT);

/**
 * @param {string} key
 * @param {string} value  empty forgets it
 */
function keep(key, value) {
  kept.set(key, value);
  keepText(key, value, WHAT);
}

/** The open chat's mode; a new chat takes the one chosen last. @returns {Mode} */
export function currentMode() {
  const mode = currentSession()?.mode ?? (read(MODE) || state.defaultMode);
  return mode === "agent" ? "agent" : "chat";
}

/** @param {Mode} mode */
export async function setMode(mode) {
  keep(MODE, mode);
  await change({ mode });
}

/** The folder of the open chat, empty when it has its own. */
export const currentWorkspace = () => currentSession()?.workspace ?? "";

/**
 * Set or clear the folder of a session.
 *
 * @param {string} session
 * @param {string} path  absolute; empty clears it
 * @returns {Promise<string>} why the server refused, empty when it did not
 */
export async function setWorkspace(session, path) {
  try {
    replace(await api.patchSession(session, { workspace: path }));
    return "";
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    return error.message;
  }
}

/** @param {{ mode: Mode }} changes */
async function change(changes) {
  const session = currentSession();
  if (!session) return tell("sessions");
  replace({ ...session, ...changes }); // shown at once; a refusal puts it back
  try {
    replace(await api.patchSession(session.id, changes));
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    replace(session);
    set({ alert: error.message });
  }
}

/** @param {import("./types.js").Session} session */
function replace(session) {
  set({ sessions: state.sessions.map((known) => (known.id === session.id ? { ...known, ...session } : known)) });
  tellTabs({ kind: "sessions" });
}

/** Whether the open chat makes plans and changes nothing. */
export const isPlanMode = () => read(PLAN + (state.chat.session ?? "new")) === "on";

/** @param {boolean} on */
export function setPlanMode(on) {
  keep(PLAN + (state.chat.session ?? "new"), on ? "on" : "");
  tell("chat");
}

/** Whether the web is searched for the open chat's messages. */
export const isWebOn = () => read(WEB + (state.chat.session ?? "new")) === "on";

/** @param {boolean} on */
export function setWeb(on) {
  keep(WEB + (state.chat.session ?? "new"), on ? "on" : "");
  tell("chat");
}

/** What else is kept for each chat, by its name. */
const OTHERS = ["library", "memories", "programs", "incognito", "research", "age"].map(keyOf);

/** @param {string} name */
function keyOf(name) {
  return `odysseus.use-${name}.`;
}

/** A switch of the open chat; empty is the usual. @param {string} name */
export const readSwitch = (name) => read(keyOf(name) + (state.chat.session ?? "new"));

/**
 * @param {string} name
 * @param {string} value  empty forgets it
 */
export const keepSwitch = (name, value) => keep(keyOf(name) + (state.chat.session ?? "new"), value);

/** The new chat has become a session. @param {string} session */
export function moveSwitches(session) {
  for (const name of [PLAN, WEB, ...OTHERS]) {
    keep(name + session, read(`${name}new`));
    keep(`${name}new`, "");
  }
}
