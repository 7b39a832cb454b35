/** What is shown of a document beside its text: how it looks, its versions, what is suggested, and two texts that clash. */

/** @import { Suggestion, Version } from "../../core/documents.js" */
/** @import { Editing } from "../../core/editing.js" */

import { decideSuggestion, getVersion, listSuggestions, listVersions, previewDocument, restoreVersion } from "../../core/documents.js";
import { h, setHtml, smallButton as small } from "../../core/dom.js";
import { count } from "../../core/words.js";
import { diffBox, outputBox } from "../output.js";

/** @typedef {(work: () => Promise<unknown>) => Promise<void>} Attempt  Does something and tells what went wrong. */

/**
 * @param {Editing} editing
 * @returns {Promise<HTMLElement>}
 */
export async function previewPage(editing) {
  await editing.save();
  const { html, note, kind } = await previewDocument(editing.id);
  const body = h("div", { class: "blocks doc-preview", "data-kind": kind, dir: "auto" });
  const block = h("div", { class: "block" });
  setHtml(kind === "markdown" ? body : block, html);
  if (kind !== "markdown") body.append(block);
  return h("div", {}, note && h("p", { class: "quiet doc-note" }, note), body);
}

/**
 * @param {Editing} editing
 * @param {Attempt} attempt
 * @param {() => void} onRestored
 * @returns {Promise<HTMLElement>}
 */
export async function versionsPage(editing, attempt, onRestored) {
  const versions = await listVersions(editing.id);
  /** @param {Version} version @param {number} index */
  const row = ({ version, author, characters, created_at }, index) => {
    const who = author === "agent" ? "the agent" : "you";
    const body = h("div", { class: "act-body" });
    const about = `${new Date(created_at).toLocaleString()} · ${count(characters)} characters`;
    const details = h("details", { class: "doc-version" }, h("summary", {}, h("strong", {}, `Version ${version}`), ` by ${who}`, h("span", { class: "quiet" }, about)), body);
    details.addEventListener("toggle", () => {
      if (details.open && !body.firstChild) void attempt(async () => body.append(outputBox(`Text of version ${version}`, (await getVersion(editing.id, version)).content)));
    });
    const restore = async () => {
      await editing.save();
      await restoreVersion(editing.id, version);
      await editing.refresh();
      onRestored();
    };
    return h("li", {}, details, index > 0 && small("Restore", () => void attempt(restore)));
  };
  return h("ol", { class: "doc-list" }, ...versions.map(row));
}

/** @param {string} text @param {string} sign */
const signed = (text, sign) => text.split("\n").map((line) => `${sign}${line}\n`).join("");

/**
 * The suggestions that are open, and a way to take or leave each.
 *
 * @param {Editing} editing
 * @param {Attempt} attempt
 * @param {() => void} onDecided
 * @returns {Promise<HTMLElement>}
 */
export async function suggestionsPage(editing, attempt, onDecided) {
  const open = (await listSuggestions(editing.id)).filter(({ state }) => state === "open");
  if (!open.length) return h("p", { class: "quiet" }, "Nothing is suggested.");
  /** @param {Suggestion} suggestion */
  const card = ({ id, find, replace, reason }) => {
    /** @param {"accept" | "reject"} decision */
    const decide = (decision) => async () => {
      await editing.save();
      await decideSuggestion(editing.id, id, decision);
      await editing.refresh();
      onDecided();
    };
    const ways = h("div", { class: "actions" }, small("Accept", () => void attempt(decide("accept")), "primary"), small("Reject", () => void attempt(decide("reject"))));
    return h("li", { class: "doc-card" }, reason && h("p", { dir: "auto" }, reason), diffBox("Suggested change", signed(find, "-") + (replace ? signed(replace, "+") : "")), ways);
  };
  return h("ul", { class: "doc-list" }, ...open.map(card));
}

/**
 * Two texts of the same place, and which to keep. Neither is lost: what is not chosen is a version, or was never saved.
 *
 * @param {Editing} editing
 */
export function clashPage(editing) {
  const { clash } = editing;
  if (!clash) return h("div");
  /** @param {string} title @param {string} text */
  const side = (title, text) => h("section", {}, h("h3", {}, title), outputBox(title, text));
  const why = "You and someone else have changed the same place. Nothing is lost: choose what the document shall hold.";
  const ways = h(
    "div",
    { class: "actions" },
    small("Keep both", () => void editing.choose(clash.both), "primary"),
    small("Keep mine", () => void editing.choose(clash.yours)),
    small("Keep theirs", () => void editing.choose(clash.current)),
  );
  return h("div", { class: "doc-clash" }, h("p", { role: "alert" }, why), ways, h("div", { class: "doc-sides" }, side("Mine", clash.yours), side("Theirs", clash.current)));
}
