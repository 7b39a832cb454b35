/** Whether the server is there at all. When a call did not reach it, it is asked again and again until it answers. */

import { hearUnreachable, UNREACHABLE } from "./api.js";
import { set, state } from "./state.js";

const RETRY_MS = 1500;
const PATIENCE_MS = 5000;

let asking = false;

/** Any answer will do: a server that refuses is there. */
async function answers() {
  try {
    await fetch("/api/health", { signal: AbortSignal.timeout(PATIENCE_MS) });
    return true;
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return false; // not reached, or too slow
    throw error;
  }
}

/** @param {() => void} onBack */
async function untilBack(onBack) {
  if (asking) return;
  asking = true;
  while (!(await answers())) {
    if (!state.away) set({ away: true });
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
  asking = false;
  if (!state.away) return;
  set({ away: false, ...(state.alert === UNREACHABLE && { alert: "" }) });
  onBack();
}

/** @param {() => void} onBack  called when a server that was away answers again */
export function startPresence(onBack) {
  hearUnreachable(() => void untilBack(onBack));
}

/** Have the browser keep the page's files. Only on this machine and over TLS does it offer that. */
export function keepPage() {
  navigator.serviceWorker
    ?.register("/sw.js")
    .catch((error) => console.info("The page is not kept for a start without the server.", error));
}
