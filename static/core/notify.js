/**
 * A notification of the system when an answer has ended while no tab of the page is shown: only where the user wants it,
 * and once over all tabs. A click on it opens the chat.
 */

/** @import { Session } from "./types.js" */

import { addressOf } from "./route.js";
import { state, watch } from "./state.js";
import { keepText, readText } from "./storage.js";

const KEY = "odysseus.notify";
const WHAT = "The wish for notifications";
const VISIBLE = "odysseus-visible";

/** The sessions that were seen running. @type {Set<string>} */
const running = new Set();

export const canNotify = () => "Notification" in globalThis && Boolean(navigator.locks);

/** Whether answers that end unseen are told. */
export function isNotifying() {
  return canNotify() && Notification.permission === "granted" && readText(KEY, WHAT) === "on";
}

/**
 * Turn notifications on or off. To be called in a click: the browser asks the user first.
 *
 * @param {boolean} on
 * @returns {Promise<boolean>} whether they are on now
 */
export async function setNotifying(on) {
  const allowed = on && canNotify() && (await Notification.requestPermission()) === "granted";
  keepText(KEY, allowed ? "on" : "", WHAT);
  return allowed;
}

/** While this tab is shown it holds a lock that the others can see. */
function showPresence() {
  if (document.visibilityState === "hidden") return;
  void navigator.locks.request(VISIBLE, { mode: "shared" }, () => new Promise((/** @type {(value?: undefined) => void} */ done) => document.addEventListener("visibilitychange", () => done(), { once: true })));
}

/** @param {Session} session */
async function tell(session) {
  const { held = [] } = await navigator.locks.query();
  if (held.some(({ name }) => name === VISIBLE)) return;
  const key = `odysseus-notified-${session.id}-${session.last_message_at}`;
  // Held until the page is closed: another tab that sees the same end finds it taken.
  void navigator.locks.request(key, { ifAvailable: true }, (lock) => (lock ? show(session) : undefined));
}

/**
 * @param {Session} session
 * @returns {Promise<void>} never done
 */
function show({ id, name }) {
  try {
    const notice = new Notification(name, { body: "The answer is finished.", tag: `odysseus-${id}`, icon: "/static/icon.svg" });
    notice.addEventListener("click", () => {
      window.focus();
      location.hash = addressOf(id);
      notice.close();
    });
  } catch (error) {
    console.warn("The system takes no notification from a page.", error); // phones want a service worker for it
  }
  return new Promise(() => undefined);
}

function look() {
  for (const session of state.sessions) {
    if (session.running) running.add(session.id);
    else if (running.delete(session.id) && document.visibilityState === "hidden" && isNotifying()) void tell(session);
  }
}

let started = false;

export function startNotify() {
  if (started || !canNotify()) return;
  started = true;
  showPresence();
  document.addEventListener("visibilitychange", showPresence);
  watch(["sessions"], look);
}
