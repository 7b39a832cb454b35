/** What the model was given beside the conversation: files, web results, passages, memories. From frames or the history. Pure. */

/** @import { Frame, Given, Terminal, Upload } from "./types.js" */

import { afterFrame, storedResearch } from "./research.js";
import { bytes, count } from "./words.js";

/** The parts of it, by the names they have in frames and in the history. @type {Record<string, "files" | "web" | "passages" | "memories" | "findings">} */
const PARTS = {
  attachments: "files",
  web_sources: "web",
  research_sources: "web",
  research_findings: "findings",
  rag_sources: "passages",
  memories_used: "memories",
};

/** @returns {Given} */
export const newGiven = () => ({ files: [], web: [], passages: [], found: [], memories: [], research: null, findings: [] });

/** @param {unknown} value */
const entries = (value) => (Array.isArray(value) ? value.filter((one) => one && typeof one === "object") : []);

/**
 * What a row of the agent found, which the answer may cite. The first to tell of a number has the word.
 *
 * @param {Given} given
 * @param {any} row
 */
function addFound(given, row) {
  const known = new Set(given.found.map(({ number }) => number));
  given.found.push(...entries(row?.sources).filter(({ number }) => Number.isInteger(number) && !known.has(number)));
}

/**
 * Apply a frame that tells of something given. Others are passed over.
 *
 * @param {Given} given
 * @param {Frame} frame
 */
export function applyGiven(given, frame) {
  const { type = "", data } = /** @type {{ type?: string, data?: unknown }} */ (frame);
  if (Object.hasOwn(PARTS, type)) given[/** @type {"web"} */ (PARTS[type])] = entries(data);
  if (type === "tool_output") addFound(given, frame);
  given.research = afterFrame(given.research, frame);
}

/**
 * @param {Terminal | null} metadata
 * @returns {Given}
 */
export function storedGiven(metadata) {
  const given = newGiven();
  const { sources, findings } = /** @type {{ sources?: unknown, findings?: unknown }} */ (metadata?.research ?? {});
  const kept = { ...metadata, research_sources: sources, research_findings: findings };
  for (const [name, part] of Object.entries(PARTS)) {
    const found = entries(kept[/** @type {keyof Terminal} */ (name)]);
    if (found.length) given[part] = found;
  }
  for (const row of entries(metadata?.tool_events)) addFound(given, row);
  given.research = storedResearch(metadata);
  return given;
}

/** The address of a file that was sent here; empty for anything else. @param {Pick<Upload, "id">} file */
export const addressOfFile = ({ id }) => (typeof id === "string" && /^[\w-]+$/.test(id) ? `/api/upload/${id}` : "");

/** The address of a small picture of a file that was sent or made here. @param {string} address */
export const thumbnailOf = (address) => `${address}?thumb=1024`;

/** Whether browsers show it as a picture. @param {Upload} file */
export const isPicture = ({ mime }) => /^image\/(png|jpeg|gif|webp)$/.test(mime ?? "");

/**
 * A file's size and what was read in it: `12 kB · 3,400 characters read`.
 *
 * @param {Upload} file
 */
export const aboutFile = (file) => [bytes(file.size), readIn(file), file.note].filter(Boolean).join(" · ");

/** @param {Upload} file */
function readIn({ extraction, text_chars = 0, width, height }) {
  switch (extraction) {
    case "text":
      return `${count(text_chars)} characters read`;
    case "ocr":
      return `${count(text_chars)} characters recognised in the picture`;
    case "image":
      return width && height ? `picture, ${width} × ${height}` : "picture";
    case "failed":
      return "could not be read";
    case "none":
      return "no text in it";
    default:
      return "";
  }
}
