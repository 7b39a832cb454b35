/** Which document is open beside the chat, and whether it goes with messages. Knows nothing of its text. */

import { set, state } from "./state.js";
import { keepText, readText } from "./storage.js";

const KEY = "odysseus.document";
const WHAT = "Which document is open";

/**
 * Open the panel with a document; without an id it lists them all.
 *
 * @param {string} id
 * @param {string} [title]
 */
export function openDocument(id, title = "") {
  const same = state.document?.id === id ? state.document : null;
  keep(id);
  set({ document: { id, title: title || same?.title || "", given: same?.given ?? true } });
}

export function closeDocument() {
  keep("");
  set({ document: null });
}

/** Have the open document go with messages, or not. @param {boolean} given */
export function giveDocument(given) {
  if (state.document) set({ document: { ...state.document, given } });
}

/** What a message says of it, as the server's fields. @returns {Record<string, string>} */
export const documentNow = () => (state.document?.id && state.document.given ? { active_doc_id: state.document.id } : {});

/** The document that was open in this tab before a reload. */
export function lastDocument() {
  return readText(KEY, WHAT, "session");
}

/** @param {string} id */
function keep(id) {
  keepText(KEY, id, WHAT, "session");
}
