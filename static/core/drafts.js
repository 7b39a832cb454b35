/** Unsent text, kept per session in the browser. Storage that is full or forbidden only costs the keeping. */

/** @param {string | null} session */
const keyOf = (session) => `odysseus.draft.${session ?? "new"}`;

/**
 * @param {string | null} session
 * @returns {string}
 */
export function readDraft(session) {
  try {
    return localStorage.getItem(keyOf(session)) ?? "";
  } catch (error) {
    console.warn("Drafts cannot be read.", error);
    return "";
  }
}

/**
 * @param {string | null} session
 * @param {string} text  empty forgets the draft
 */
export function keepDraft(session, text) {
  try {
    if (text) localStorage.setItem(keyOf(session), text);
    else localStorage.removeItem(keyOf(session));
  } catch (error) {
    console.warn("The draft cannot be kept.", error);
  }
}

/** @param {string | null} session */
const filesOf = (session) => `odysseus.files.${session ?? "new"}`;

/**
 * The files that waited with a draft, as they were told by the server.
 *
 * @param {string | null} session
 * @returns {import("./types.js").Upload[]}
 */
export function readFiles(session) {
  try {
    const kept = JSON.parse(localStorage.getItem(filesOf(session)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one?.id === "string" && typeof one.name === "string") : [];
  } catch (error) {
    console.warn("The files of a draft cannot be read.", error);
    return [];
  }
}

/**
 * @param {string | null} session
 * @param {import("./types.js").Upload[]} files
 */
export function keepFiles(session, files) {
  try {
    if (files.length) localStorage.setItem(filesOf(session), JSON.stringify(files));
    else localStorage.removeItem(filesOf(session));
  } catch (error) {
    console.warn("The files of a draft cannot be kept.", error);
  }
}

/**
 * Forget a draft that was sent. Another text in its place stays.
 *
 * @param {string} session
 * @param {string} sent
 */
export function forgetDraft(session, sent) {
  if (readDraft(session) === sent) keepDraft(session, "");
}
