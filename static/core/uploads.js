/** The files that wait in the composer, for each chat: sending them, how far that is, taking them out. Draws nothing. */

/** @import { Attachment, Upload } from "./types.js" */

import * as api from "./api.js";
import { keepFiles, readFiles } from "./drafts.js";
import { state, tell } from "./state.js";
import { isUsed } from "./uses.js";

/** @type {Map<string, Attachment[]>} */
const waiting = new Map();

let keys = 0;

/** @param {string | null} session */
const nameOf = (session) => session ?? "new";

/** The files that wait in the open chat. Those of an earlier visit are taken up again. */
export function attachments() {
  const { session } = state.chat;
  const known = waiting.get(nameOf(session));
  if (known) return known;
  const again = readFiles(session).map(ready);
  waiting.set(nameOf(session), again);
  for (const attachment of again) void makeSure(attachment);
  return again;
}

/** A file that the server has. @param {Upload} upload @returns {Attachment} */
const ready = (upload) => ({ key: `file-${(keys += 1)}`, name: upload.name, size: upload.size, file: null, state: "ready", sent: 1, problem: "", upload, cancel: new AbortController() });

/** Files that no message names are deleted after a day. @param {Attachment} attachment */
async function makeSure(attachment) {
  if (!attachment.upload || (await api.isKept(attachment.upload.id))) return;
  Object.assign(attachment, { state: "failed", upload: null, problem: "It is no longer kept. Attach it again." });
  tell("chat");
}

/** What is ready outlives the page, but for what is to be stored nowhere. @param {string | null} session */
function keepReady(session) {
  keepFiles(session, isUsed("incognito") ? [] : (waiting.get(nameOf(session)) ?? []).flatMap(({ upload }) => upload ?? []));
}

/** Why a message cannot be sent with the files as they are; empty when it can. */
export function attachmentsProblem(files = attachments()) {
  if (files.some(({ state }) => state === "sending")) return "The files are still being read.";
  return files.some(({ state }) => state === "failed") ? "Remove the file that could not be attached, or try it again." : "";
}

/** The files that can go with a message. @returns {Upload[]} */
export const readyFiles = () => attachments().flatMap(({ upload }) => upload ?? []);

/** @param {Attachment[]} list */
function keep(list) {
  waiting.set(nameOf(state.chat.session), list);
  keepReady(state.chat.session);
  tell("chat");
}

/** A file that is still to be sent. @param {File} file @returns {Attachment} */
export const newAttachment = (file) => ({ key: `file-${(keys += 1)}`, name: file.name || "file", size: file.size, file, state: "sending", sent: 0, problem: "", upload: null, cancel: new AbortController() });

/**
 * Send files to the server, to go with the next message.
 *
 * @param {File[]} files
 */
export function attach(files) {
  const added = files.map(newAttachment);
  keep([...attachments(), ...added]);
  for (const attachment of added) void begin(attachment);
}

/**
 * Put files that the server has already back into the composer.
 *
 * @param {Upload[]} uploads
 */
export function attachAgain(uploads) {
  const known = new Set(readyFiles().map(({ id }) => id));
  const added = uploads
    .filter(({ id }) => !known.has(id))
    .map(ready);
  if (added.length) keep([...added, ...attachments()]);
}

/**
 * Send a file to the server.
 *
 * @param {Attachment} attachment
 * @param {(what: "chat" | "uploads") => void} [told]  called when it stands differently
 */
export async function begin(attachment, told = tell) {
  if (!attachment.file) return;
  Object.assign(attachment, { state: "sending", sent: 0, problem: "" });
  told("chat");
  try {
    const onSent = (/** @type {number} */ part) => {
      attachment.sent = part;
      told("uploads");
    };
    await api.checkSize(attachment.file);
    const { files } = await api.upload(attachment.file, onSent, attachment.cancel.signal);
    Object.assign(attachment, { state: "ready", upload: files[0] ?? null });
    for (const [name, list] of waiting) if (list.includes(attachment)) keepReady(name === "new" ? null : name);
  } catch (error) {
    if (attachment.cancel.signal.aborted) return;
    if (!(error instanceof api.ApiError)) throw error;
    Object.assign(attachment, { state: "failed", problem: error.message });
  }
  told("chat");
}

/** @param {Attachment} attachment */
export const tryAgain = (attachment) => begin(attachment);

/** @param {Attachment} attachment */
export function detach(attachment) {
  attachment.cancel.abort();
  keep(attachments().filter((one) => one !== attachment));
}

/**
 * The files went with a message.
 *
 * @param {string} session
 * @param {Upload[]} sent
 */
export function forgetFiles(session, sent) {
  const rest = (waiting.get(session) ?? []).filter(({ upload }) => !upload || !sent.includes(upload));
  waiting.set(session, rest);
  keepReady(session);
}

/** The new chat has become a session. @param {string} session */
export function moveFiles(session) {
  waiting.set(session, waiting.get("new") ?? []);
  waiting.delete("new");
  keepFiles(null, []);
  keepReady(session);
}
