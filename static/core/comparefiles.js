/** The files that wait for the next question to all models. Draws nothing. */

/** @import { Attachment } from "./types.js" */

import { begin, newAttachment } from "./uploads.js";

/** @type {{ list: Attachment[] }} */
export const waiting = { list: [] };

/** @param {File[]} files @param {() => void} changed */
export function addFiles(files, changed) {
  const added = files.map(newAttachment);
  waiting.list = [...waiting.list, ...added];
  changed();
  for (const file of added) void begin(file, changed);
}

/** @param {Attachment} file @param {() => void} changed */
export function removeFile(file, changed) {
  file.cancel.abort();
  waiting.list = waiting.list.filter((one) => one !== file);
  changed();
}
