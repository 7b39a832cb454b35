/** Reads one streamed response to its end. Knows bytes, silence and the last frame; not what the frames mean. */

/** @import { StreamEvent } from "./types.js" */

import { EventParser } from "./sse.js";

/** Three of the server's heartbeats and a little: longer silence means a dead connection. */
const SILENCE_MS = 35_000;

/** @param {StreamEvent} event */
function isLast(event) {
  return event.event === "error" || event.data === "[DONE]";
}

/**
 * Read `response` until its last frame, until the transport closes, or until `signal` says to let go (which ends the
 * connection and nothing else). `onEvents` gets what each read completed.
 *
 * @param {Response} response
 * @param {AbortSignal} signal
 * @param {(events: StreamEvent[]) => void} onEvents
 * @returns {Promise<boolean>} whether the last frame came
 */
export async function readStream(response, signal, onEvents) {
  if (!response.body) return false;
  const reader = response.body.getReader();
  const letGo = () => void reader.cancel().catch(() => undefined); // a cancelled read has nothing left to report
  if (signal.aborted) letGo();
  signal.addEventListener("abort", letGo);
  let watchdog = setTimeout(letGo, SILENCE_MS);
  try {
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(watchdog);
      watchdog = setTimeout(letGo, SILENCE_MS);
      const events = parser.push(value);
      if (events.length) onEvents(events);
      if (events.some(isLast)) return true;
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", letGo);
    letGo();
  }
}
