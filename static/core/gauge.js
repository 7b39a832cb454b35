/** What the open chat fills of its model's window: asked of the server when that may have changed. Draws nothing. */

/** @import { SeenContext } from "./types.js" */

import * as api from "./api.js";
import { currentMode } from "./modes.js";
import { currentRoute } from "./models.js";
import { isLive, state, tell } from "./state.js";
import { isUsed } from "./uses.js";

/** @type {{ session: string | null, key: string, seen: SeenContext | null }} */
let known = { session: null, key: "", seen: null };

/** What the figures depend on. */
function keyOf() {
  const { session, messages } = state.chat;
  const route = currentRoute();
  return [session, messages.length, messages.at(-1)?.id, route?.endpoint_id, route?.model, currentMode()].join(" ");
}

/** Messages that are stored nowhere are not in the server's figures. */
const isSecret = () => isUsed("incognito") || state.chat.messages.some(({ secret }) => secret);

/** The last that the server told of the open chat; null while nothing is known. */
export const windowNow = () => (known.session === state.chat.session && !isSecret() ? known.seen : null);

/** Ask again if something has changed since: at the end of an answer, for another model, on another branch. */
export async function refreshWindow() {
  const { session, phase, messages, sending } = state.chat;
  const key = keyOf();
  if (known.session !== session) known = { session, key: "", seen: null };
  if (!session || phase !== "ready" || !messages.length || sending || isLive() || key === known.key) return;
  known.key = key;
  await take(session, key, api.contextFigures(session));
}

/** Have the server count as well as it can. Throws ApiError. @returns {Promise<SeenContext | null>} */
export async function countWindow() {
  const { session } = state.chat;
  const key = keyOf();
  if (!session) return null;
  const seen = await api.context(session);
  keep(session, key, { ...seen, messages: [] });
  return seen;
}

/**
 * @param {string} session
 * @param {string} key
 * @param {Promise<SeenContext>} asked
 */
async function take(session, key, asked) {
  try {
    keep(session, key, await asked);
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    if (known.session === session && known.key === key) keep(session, key, null); // without a model there is no window
  }
}

/**
 * @param {string} session
 * @param {string} key
 * @param {SeenContext | null} seen
 */
function keep(session, key, seen) {
  if (state.chat.session !== session || keyOf() !== key) return; // meanwhile something else is shown
  known = { session, key, seen };
  tell("window");
}
