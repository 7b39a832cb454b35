/**
 * One open document: what is in the field, what the server has, and the way between. A save names the text that it was made
 * on, and the server merges; what cannot be merged waits as a clash until the user has chosen. Draws nothing.
 */

/** @import { Clash, Document } from "./documents.js" */

import { ApiError } from "./api.js";
import { getDocument, saveText } from "./documents.js";
import { tellTabs } from "./tabs.js";
import { dropTextDraft, keepTextDraft, leftDrafts } from "./textdrafts.js";

const PAUSE_MS = 700;
const DRAFT_MS = 250;
const RETRY_MS = 4000;

/** @typedef {"saved" | "changed" | "saving" | "failed" | "clash"} SaveState */

export class Editing {
  /** @type {SaveState} */
  state = "saved";
  /** @type {Clash | null} */
  clash = null;
  problem = "";
  #base;
  #timer = 0;
  #draftTimer = 0;
  /** @type {Promise<void> | null} */
  #saving = null;
  #closed = false;
  #onChange;

  /**
   * @param {Document} given
   * @param {() => void} onChange  called after each change that does not come from `write`
   */
  constructor(given, onChange) {
    this.id = given.id;
    this.title = given.title;
    this.language = given.language;
    this.version = given.version;
    this.text = this.#base = given.content;
    this.#onChange = onChange;
  }

  get dirty() {
    return this.text !== this.#base;
  }

  /** The user has written. @param {string} text */
  write(text) {
    this.text = text;
    if (this.state !== "clash") this.#set(this.#saving ? "saving" : "changed");
    clearTimeout(this.#timer);
    clearTimeout(this.#draftTimer);
    this.#timer = setTimeout(() => void this.save(), PAUSE_MS);
    this.#draftTimer = setTimeout(() => this.keep(), DRAFT_MS);
  }

  /** Keep what is not saved where a reload finds it. */
  keep() {
    clearTimeout(this.#draftTimer);
    keepTextDraft(this.id, this.dirty ? { text: this.text, base: this.#base, version: this.version } : null);
  }

  /** Save what there is to save; resolves when it is, or cannot be. */
  async save() {
    clearTimeout(this.#timer);
    while (this.#saving) await this.#saving;
    if (this.#closed || this.state === "clash") return;
    if (!this.dirty) return this.#set("saved");
    this.#saving = this.#send().finally(() => (this.#saving = null));
    await this.#saving;
  }

  /** Take up what others have written, and what earlier tabs have left. */
  async refresh() {
    await this.save();
    if (this.state === "clash" || this.#closed) return;
    try {
      const now = await getDocument(this.id);
      if (this.#saving || this.dirty) return void this.save(); // the save brings the same
      if (now.version < this.version) return;
      Object.assign(this, { title: now.title, language: now.language, version: now.version, text: now.content });
      this.#base = now.content;
      this.#set("saved");
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Save what earlier tabs have left; the first that clashes becomes the text here. */
  async takeUp() {
    for (const { key, draft } of await leftDrafts(this.id)) {
      if (this.state === "clash" || this.dirty) return;
      Object.assign(this, { text: draft.text, version: draft.version });
      this.#base = draft.base;
      dropTextDraft(key);
      this.keep();
      await this.save();
    }
    await this.refresh();
  }

  /** End a clash with this text. @param {string} text */
  async choose(text) {
    const { clash } = this;
    if (!clash) return;
    Object.assign(this, { clash: null, text, version: clash.version });
    this.#base = clash.current;
    this.keep();
    this.#set("changed");
    await this.save();
  }

  /** Nothing more happens here. What is not saved stays in the browser. */
  close() {
    this.keep();
    clearTimeout(this.#timer);
    const last = this.save();
    void last.finally(() => (this.#closed = true));
  }

  async #send() {
    const sent = this.text;
    this.#set("saving");
    try {
      const result = await saveText(this.id, { content: sent, version: this.version, base: this.#base });
      if ("clash" in result) this.#clashed(sent, result.clash);
      else this.#saved(sent, result.saved);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * @param {string} sent
   * @param {Document} saved
   */
  #saved(sent, saved) {
    const wroteOn = this.text !== sent;
    this.version = saved.version;
    this.#base = wroteOn ? sent : saved.content; // what was written since was made on what was sent
    if (!wroteOn) this.text = saved.content;
    this.keep();
    this.#set(wroteOn ? "changed" : "saved");
    if (wroteOn) this.#timer = setTimeout(() => void this.save(), PAUSE_MS);
    tellTabs({ kind: "document", id: this.id });
  }

  /**
   * @param {string} sent
   * @param {Clash} clash
   */
  #clashed(sent, clash) {
    if (this.text !== sent) return void (this.#timer = setTimeout(() => void this.save(), PAUSE_MS));
    this.clash = clash;
    this.keep();
    this.#set("clash");
  }

  /** @param {unknown} error */
  #fail(error) {
    if (!(error instanceof ApiError)) throw error;
    this.keep();
    this.problem = error.message;
    this.#set("failed");
    if (!this.#closed && (error.status === 0 || error.status >= 500)) this.#timer = setTimeout(() => void this.save(), RETRY_MS);
  }

  /** @param {SaveState} state */
  #set(state) {
    this.state = state;
    this.#onChange();
  }
}
