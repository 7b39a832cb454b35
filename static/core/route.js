/** The address of a chat: `#<session id>`, with `/<message id>` behind it for one message; `#compare/<id>` of a comparison; `#settings/<section>` of the settings, with what is to be seen in it behind. */

const SETTINGS = "settings";

/** Stands where a session's id would. */
export const COMPARE = "compare";

/**
 * @param {string} session
 * @param {string} [message]
 */
export function addressOf(session, message) {
  return `#${[session, ...(message ? [message] : [])].map(encodeURIComponent).join("/")}`;
}

/**
 * @param {string} section  empty is the first
 * @param {...string} item  what is to be seen in it
 */
export const settingsAddress = (section, ...item) => `#${[SETTINGS, ...(section ? [section] : []), ...item].map(encodeURIComponent).join("/")}`;

/** What is open, by the address; `settings` is the section that stands before the chat, or null, and `item` what is to be seen in it. @returns {{ session: string | null, message: string | null, settings: string | null, item: string[] }} */
export function readAddress() {
  const [session = "", message = "", ...item] = location.hash.slice(1).split("/").map(decode);
  if (session === SETTINGS) return { session: null, message: null, settings: message, item };
  return { session: session || null, message: message || null, settings: null, item: [] };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    console.warn("The address is not well formed.", error);
    return part;
  }
}
