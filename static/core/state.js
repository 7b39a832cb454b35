/** The page's one store: a plain object, and who wants to hear when a part of it changed. Knows no view and no call. */

/** @import { Chat, State } from "./types.js" */

/** @typedef {keyof State | "live" | "uploads" | "queue" | "said" | "window"} Topic  `live` is a change inside `chat.live`, `uploads` how much of a file is sent, `queue` what waits to be sent, `said` a word on what was done, `window` what the model's window holds; all others are keys of the state. */

/** @type {Map<Topic, Set<() => void>>} */
const listeners = new Map();

/**
 * A chat with nothing in it.
 *
 * @param {string | null} session
 * @returns {Chat}
 */
export function newChat(session) {
  return {
    session,
    phase: session ? "loading" : "ready",
    problem: "",
    gone: false,
    messages: [],
    hasMore: false,
    loadingEarlier: false,
    sending: false,
    live: null,
    target: null,
  };
}

/** @type {State} */
export const state = {
  chat: newChat(null),
  sessions: [],
  archived: [],
  models: [],
  modelsKnown: false,
  defaultRoute: { endpoint_id: "", model: "" },
  defaultMode: "chat",
  choice: null,
  install: { state: "idle" },
  alert: "",
  document: null,
  away: false,
};

/**
 * Replace parts of the state and tell their listeners.
 *
 * @param {Partial<State>} patch
 */
export function set(patch) {
  Object.assign(state, patch);
  tell(.../** @type {(keyof State)[]} */ (Object.keys(patch)));
}

/**
 * Say that something inside these parts changed. A listener of several is called once.
 *
 * @param {...Topic} topics
 */
export function tell(...topics) {
  const called = new Set(topics.flatMap((topic) => [...(listeners.get(topic) ?? [])]));
  for (const listener of called) listener();
}

/**
 * Call `listener` now and after each change of one of `topics`.
 *
 * @param {Topic[]} topics
 * @param {() => void} listener
 */
export function watch(topics, listener) {
  for (const topic of topics) {
    const known = listeners.get(topic) ?? new Set();
    listeners.set(topic, known.add(listener));
  }
  listener();
}

/** True while the open chat's answer is still coming. */
export function isLive() {
  return state.chat.live !== null && !state.chat.live.ended;
}

/** The open chat's entry in the list of sessions, if it has one. */
export function currentSession() {
  const isOpen = (/** @type {import("./types.js").Session} */ session) => session.id === state.chat.session;
  return state.sessions.find(isOpen) ?? state.archived.find(isOpen) ?? null;
}
