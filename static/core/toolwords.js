/** What a tool does, in words: `Ran npm test`, `Reading server.py`. Pure. */

/** @import { ToolRow } from "./types.js" */

import { count } from "./words.js";

/** @typedef {"code" | "quote" | "plain" | "none"} Look  how the object is set */

/** The verb in its three forms, and how its object looks. @type {Record<string, [bare: string, ing: string, past: string, look: Look]>} */
const VERBS = {
  bash: ["run", "Running", "Ran", "code"],
  python: ["run Python", "Running Python", "Ran Python", "code"],
  read_file: ["read", "Reading", "Read", "plain"],
  ls: ["list", "Listing", "Listed", "plain"],
  glob: ["look for files", "Looking for files", "Looked for files", "code"],
  grep: ["search the files for", "Searching the files for", "Searched the files for", "code"],
  write_file: ["write", "Writing", "Wrote", "plain"],
  edit_file: ["edit", "Editing", "Edited", "plain"],
  apply_patch: ["change", "Changing", "Changed", "plain"],
  web_search: ["search the web for", "Searching the web for", "Searched the web for", "quote"],
  web_fetch: ["fetch", "Fetching", "Fetched", "plain"],
  ask_user: ["ask", "Asking", "Asked", "quote"],
  update_plan: ["update the plan", "Updating the plan", "Updated the plan", "none"],
  ui_control: ["change the page", "Changing the page", "Changed the page", "plain"],
  create_document: ["write the document", "Writing the document", "Wrote the document", "quote"],
  edit_document: ["edit the document", "Editing the document", "Edited the document", "quote"],
  suggest_document: ["suggest changes to", "Suggesting changes to", "Suggested changes to", "quote"],
  read_document: ["read the document", "Reading the document", "Read the document", "quote"],
  manage_memory: ["use the memory:", "Using the memory:", "Used the memory:", "plain"],
  generate_image: ["make a picture of", "Making a picture of", "Made a picture of", "quote"],
  calculate: ["calculate", "Calculating", "Calculated", "code"],
  current_time: ["look at the clock", "Looking at the clock", "Looked at the clock", "plain"],
};

/** A command that ended with an error was run all the same. */
const DONE_ANYWAY = new Set(["bash", "python"]);
const SPOKEN = 80;

/**
 * @param {ToolRow} row
 * @returns {{ verb: string, object: string, look: Look }}
 */
export function describe(row) {
  const known = Object.hasOwn(VERBS, row.tool) ? VERBS[row.tool] : null;
  const named = row.tool || "a tool";
  const [bare, ing, past, look] = known ?? [`use ${named}`, `Using ${named}`, `Used ${named}`, /** @type {Look} */ ("code")];
  const object = row.tool === "ls" && row.command === "." ? "the folder" : row.documentTitle && look === "quote" ? row.documentTitle : oneLine(row.command);
  return { verb: verbOf(row, bare, ing, past), object: look === "none" ? "" : object, look };
}

/**
 * @param {ToolRow} row
 * @param {string} bare
 * @param {string} ing
 * @param {string} past
 */
function verbOf(row, bare, ing, past) {
  if (row.tool === "ask_user") return past;
  if (row.state === "running") return ing;
  if (row.state === "waiting") return `Asked to ${bare}`;
  if (row.state === "stopped") return `Stopped: ${bare}`;
  return row.state === "failed" && !DONE_ANYWAY.has(row.tool) ? `Could not ${bare}` : past;
}

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** The same as one piece of text, short enough to be heard. @param {ToolRow} row */
export function spoken(row) {
  const { verb, object } = describe(row);
  const whole = object ? `${verb} ${object}` : verb;
  return whole.length > SPOKEN ? `${whole.slice(0, SPOKEN)}…` : whole;
}

/** What a finished row says at its end: `exit 2`, `+3 −1`. @param {ToolRow} row */
export function result({ diff, exitCode, state, tool }) {
  if (state === "failed") return DONE_ANYWAY.has(tool) && exitCode !== null ? `exit ${exitCode}` : "failed";
  if (!diff) return "";
  return `+${count(Number(diff.added) || 0)} −${count(Number(diff.removed) || 0)}`;
}

/** The first line that says what went wrong. Commands tell it at their end. @param {ToolRow} row */
export function firstError({ output, tool }) {
  const lines = plain(output).split("\n").map((line) => line.trim()).filter(Boolean);
  const telling = lines.find((line) => /error|fail|exception|denied|not found|no such|cannot/i.test(line));
  return (DONE_ANYWAY.has(tool) ? telling ?? lines.at(-1) : lines[0]) ?? "";
}

/** Output without a terminal's colour codes. @param {string} text */
export const plain = (text) => text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g, "").replace(/\r\n?/g, "\n");

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Text to decide on, with what would be unseen or would turn the text around shown by its number. @param {string} text */
export const visible = (text) =>
  text.replace(/\r\n/g, "\n").replace(HIDDEN, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
