/** The address of a chat: `#<session id>`, with `/<message id>` behind it for one message. */

/**
 * @param {string} session
 * @param {string} [message]
 */
export function addressOf(session, message) {
  return `#${[session, ...(message ? [message] : [])].map(encodeURIComponent).join("/")}`;
}

/** @returns {{ session: string | null, message: string | null }} */
export function readAddress() {
  const [session = "", message = ""] = location.hash.slice(1).split("/").map(decode);
  return { session: session || null, message: message || null };
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
