/** The server's documents, as plain calls. */

import { ApiError, call } from "./api.js";

/**
 * @typedef {object} DocumentEntry
 * @property {string} id
 * @property {string} title
 * @property {string} language
 * @property {number} version
 * @property {number} characters
 * @property {string} updated_at
 *
 * @typedef {{ id: string, title: string, language: string, version: number, content: string }} Document
 * @typedef {{ version: number, author: "user" | "agent", characters: number, created_at: string }} Version
 * @typedef {{ id: string, find: string, replace: string, reason: string, state: "open" | "accepted" | "rejected" }} Suggestion
 * @typedef {{ version: number, kind: string, html: string, note: string }} Preview
 *
 * @typedef {object} Clash  Two changes of the same place. Nothing was stored.
 * @property {string} yours
 * @property {string} base
 * @property {string} current
 * @property {string} both
 * @property {number} version
 */

const ALL = "/api/documents";

/** @param {string} id */
const one = (id) => `${ALL}/${encodeURIComponent(id)}`;

/** @type {(query: string) => Promise<DocumentEntry[]>} */
export const listDocuments = (query) => call("GET", `${ALL}?q=${encodeURIComponent(query)}`);

/** @type {(session: string | null) => Promise<Document>} */
export const createDocument = (session) => call("POST", ALL, { title: "Untitled", session: session ?? "" });

/** @type {(id: string) => Promise<Document>} */
export const getDocument = (id) => call("GET", one(id));

/** @type {(id: string) => Promise<unknown>} */
export const deleteDocument = (id) => call("DELETE", one(id));

/** @type {(id: string, fields: { title?: string, language?: string }) => Promise<Document>} */
export const describeDocument = (id, fields) => call("PATCH", one(id), fields);

/**
 * Save a text that was made on `base`, which is the version's own text or one after it.
 *
 * @param {string} id
 * @param {{ content: string, version: number, base: string }} edit
 * @returns {Promise<{ saved: Document } | { clash: Clash }>}
 */
export async function saveText(id, edit) {
  try {
    return { saved: await call("PATCH", one(id), edit) };
  } catch (error) {
    const body = error instanceof ApiError && error.status === 409 ? /** @type {any} */ (error.body) : null;
    if (typeof body?.current !== "string") throw error;
    return { clash: body };
  }
}

/** @type {(id: string) => Promise<Version[]>} */
export const listVersions = (id) => call("GET", `${one(id)}/versions`);

/** @type {(id: string, version: number) => Promise<Document>} */
export const getVersion = (id, version) => call("GET", `${one(id)}/versions/${version}`);

/** @type {(id: string, version: number) => Promise<Document>} */
export const restoreVersion = (id, version) => call("POST", `${one(id)}/restore`, { version });

/** @type {(id: string) => Promise<Suggestion[]>} */
export const listSuggestions = (id) => call("GET", `${one(id)}/suggestions`);

/** @type {(id: string, suggestion: string, decision: "accept" | "reject") => Promise<Document>} */
export const decideSuggestion = (id, suggestion, decision) =>
  call("POST", `${one(id)}/suggestions/${encodeURIComponent(suggestion)}`, { decision });

/** @type {(id: string) => Promise<Preview>} */
export const previewDocument = (id) => call("GET", `${one(id)}/preview`);

/** @param {string} id */
export const downloadAddress = (id) => `${one(id)}/download`;
