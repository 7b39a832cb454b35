/** What stands between the blocks of an answer: the rows of each round, notices, and pictures, where they happened. */

/** @import { Row } from "../core/dom.js" */
/** @import { Notice, ToolRow, Work } from "../core/types.js" */
/** @import { BlockList } from "./blocks.js" */

import { h, reconcile, setText, smallButton as small } from "../core/dom.js";
import { thumbnailOf } from "../core/given.js";
import { canContinue, noticeText } from "../core/notices.js";
import { createAct } from "./act.js";

/** Only what was uploaded or made here is shown. */
const OWN = /^\/api\/upload\/[\w-]+$/;

/** So many of the last entries of a growing answer are always drawn. */
const NEAR = 20;

/**
 * @typedef {{ url: string, prompt: string }} Picture
 * @typedef {{ key: string, block: number, round: number, rows?: ToolRow[], notice?: Notice, picture?: Picture }} Entry
 */

/**
 * The entries in their order: by block, then by round; a round's rows come before what followed from them.
 *
 * @param {Work} work
 * @returns {Entry[]}
 */
function entriesOf(work) {
  /** @type {Map<string, Entry & { rows: ToolRow[] }>} */
  const rounds = new Map();
  for (const row of work.rows) {
    const key = `round ${row.block} ${row.round}`;
    const entry = rounds.get(key) ?? { key, block: row.block, round: row.round, rows: [] };
    entry.rows.push(row);
    rounds.set(key, entry);
  }
  const notices = work.notices.map((notice, index) => ({ key: `notice ${index}`, block: notice.block, round: roundOf(notice), notice }));
  return [...rounds.values(), ...notices, ...picturesOf(work)].sort((a, b) => compare(a.block, b.block) || compare(a.round, b.round));
}

/** These tell of what the model was given, so they stand before what it did. */
const BEFORE = new Set(["replay_gap", "workspace_rejected", "compacted", "context_trimmed"]);

/** @param {Notice} notice */
const roundOf = ({ type, round }) => (BEFORE.has(type) ? -1 : round);

/**
 * @param {number} a
 * @param {number} b
 */
const compare = (a, b) => (a === b ? 0 : a < b ? -1 : 1); // both may be infinite

/**
 * @param {Work} work
 * @returns {Entry[]}
 */
function picturesOf(work) {
  const own = work.images.filter(({ url }) => typeof url === "string" && OWN.test(url));
  return own.map((image, index) => {
    const picture = { url: String(image.url), prompt: String(image.image_prompt ?? "") };
    const row = work.rows.find(({ imageUrl }) => imageUrl === picture.url) ?? work.rows.at(-1);
    return { key: `picture ${index} ${picture.url}`, block: row?.block ?? Infinity, round: row?.round ?? Infinity, picture };
  });
}

export class Flow {
  /** @type {Map<string, Row<Entry>>} */
  #entries = new Map();
  /** The entries of the last drawing: they have been laid out since. @type {Set<string>} */
  #laidOut = new Set();
  #blocks;
  #onToggle;
  #onContinue;

  /**
   * @param {BlockList} blocks
   * @param {() => void} onToggle
   * @param {() => void} onContinue
   */
  constructor(blocks, onToggle, onContinue) {
    this.#blocks = blocks;
    this.#onToggle = onToggle;
    this.#onContinue = onContinue;
  }

  /**
   * Bring the page to this work, once its blocks are drawn.
   *
   * @param {Work} work
   */
  draw(work) {
    const entries = entriesOf(work);
    const wanted = new Set(entries.map(({ key }) => key));
    for (const [key, entry] of this.#entries) {
      if (wanted.has(key)) continue;
      entry.node.remove();
      this.#entries.delete(key);
    }
    entries.forEach((entry, at) => {
      const row = this.#entries.get(entry.key) ?? this.#create(entry);
      this.#entries.set(entry.key, row);
      row.update(entry);
      this.#blocks.place(row.node, entry.block);
      if (at < entries.length - NEAR && this.#laidOut.has(entry.key)) row.node.classList.add("far");
    });
    this.#laidOut = wanted;
  }

  /**
   * @param {Entry} entry
   * @returns {Row<Entry>}
   */
  #create(entry) {
    if (entry.picture) return { node: figure(entry.picture), update: () => undefined };
    return entry.rows ? createRound(entry.round, this.#onToggle) : createNotice(this.#onContinue);
  }
}

/**
 * @param {number} round
 * @param {() => void} onToggle
 * @returns {Row<Entry>}
 */
function createRound(round, onToggle) {
  const node = h("div", { class: "acts", role: "group", "aria-label": round ? `Tools of round ${round}` : "Tools" });
  /** @type {Map<string, Row<ToolRow>>} */
  const acts = new Map();
  return {
    node,
    update: ({ rows = [] }) => reconcile(node, acts, rows, ({ callId }) => callId, () => createAct(onToggle)),
  };
}

/**
 * @param {() => void} onContinue
 * @returns {Row<Entry>}
 */
function createNotice(onContinue) {
  const text = h("span", { dir: "auto" });
  const more = small("Continue", onContinue, "continue");
  return {
    node: h("p", { class: "remark" }, text, more),
    update({ notice }) {
      if (!notice) return;
      setText(text, noticeText(notice));
      if (!canContinue(notice)) more.remove();
    },
  };
}

/** @param {Picture} picture */
function figure({ url, prompt }) {
  const image = h("img", { src: thumbnailOf(url), alt: prompt || "A picture that was made", loading: "lazy" });
  const whole = h("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: "Open the whole picture" }, image);
  return h("figure", { class: "picture" }, whole, prompt && h("figcaption", { dir: "auto" }, prompt));
}
