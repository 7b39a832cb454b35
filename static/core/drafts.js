/** Unsent text, kept per session in the browser, and per message that is written anew. */

import { keepText, readText, readValue } from "./storage.js";

const DRAFT = "The draft";
const EDIT = "odysseus.edit.";
const FILES = "The list of a draft's files";

/** @param {string | null} session */
const keyOf = (session) => `odysseus.draft.${session ?? "new"}`;

/**
 * @param {string | null} session
 * @returns {string}
 */
export function readDraft(session) {
  return readText(keyOf(session), DRAFT);
}

/**
 * @param {string | null} session
 * @param {string} text  empty forgets the draft
 */
export function keepDraft(session, text) {
  keepText(keyOf(session), text, DRAFT);
}

/**
 * A question that is being written anew, kept for this tab.
 *
 * @param {string} message
 */
export const readEdit = (message) => readText(EDIT + message, DRAFT, "session");

/**
 * @param {string} message
 * @param {string} text  empty forgets it
 */
export function keepEdit(message, text) {
  keepText(EDIT + message, text, DRAFT, "session");
}

/**
 * What was written for a session that is gone is written for a new one.
 *
 * @param {string} session
 */
export function saveDraft(session) {
  if (!readDraft(null)) keepDraft(null, readDraft(session));
  keepDraft(session, "");
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
  const kept = readValue(filesOf(session), [], FILES);
  return Array.isArray(kept) ? kept.filter((one) => typeof one?.id === "string" && typeof one.name === "string") : [];
}

/**
 * @param {string | null} session
 * @param {import("./types.js").Upload[]} files
 */
export function keepFiles(session, files) {
  keepText(filesOf(session), files.length ? JSON.stringify(files) : "", FILES);
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
