/**
 * Texts of documents that are not saved yet, kept in the browser for each tab. A tab that is gone leaves its drafts behind,
 * and the next one that opens the document takes them up.
 */

/** @typedef {{ text: string, base: string, version: number }} TextDraft  `base` is the text that it was made on. */

import { keepText } from "./storage.js";

const PREFIX = "odysseus.document.";
const TAB = Math.random().toString(36).slice(2);
const BEFORE = "odysseus.tab";

/** @param {string} tab */
const lockOf = (tab) => `odysseus-tab-${tab}`;

void navigator.locks?.request(lockOf(TAB), () => new Promise(() => undefined)); // until the tab is gone
const before = remembered();

/** The tab's own name before its reload, which a lock may still seem to hold. */
function remembered() {
  try {
    const name = sessionStorage.getItem(BEFORE) ?? "";
    sessionStorage.setItem(BEFORE, TAB);
    return name;
  } catch (error) {
    console.warn("The tab is not remembered.", error);
    return "";
  }
}

/** @param {string} id */
const keyOf = (id) => `${PREFIX}${id}.${TAB}`;

/**
 * @param {string} id
 * @param {TextDraft | null} draft  null forgets it
 */
export function keepTextDraft(id, draft) {
  keepText(keyOf(id), draft ? JSON.stringify(draft) : "", "The unsaved text");
}

/** @param {string} key */
export function dropTextDraft(key) {
  keepText(key, "", "The unsaved text");
}

/**
 * The drafts of a document that no tab has open: its own of before, and those of tabs that are gone.
 *
 * @param {string} id
 * @returns {Promise<{ key: string, draft: TextDraft }[]>}
 */
export async function leftDrafts(id) {
  const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name) ?? []);
  const start = `${PREFIX}${id}.`;
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(start));
    const left = keys.filter((key) => key === start + before || key === keyOf(id) || !held.has(lockOf(key.slice(start.length))));
    return left.map((key) => ({ key, draft: JSON.parse(localStorage.getItem(key) ?? "null") })).filter(({ draft }) => draft);
  } catch (error) {
    console.warn("Texts that were not saved cannot be read.", error);
    return [];
  }
}
