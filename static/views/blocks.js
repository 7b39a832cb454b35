/**
 * The rendered blocks of an answer. Each has a `div.block` of its own; a finished one is never touched again, of the open
 * one only the content changes.
 */

/** @import { Block, Source } from "../core/types.js" */

import { copyButton } from "../core/clipboard.js";
import { h, setHtml } from "../core/dom.js";
import { boxWide } from "../core/wide.js";
import { addCitations, keepFocus } from "./citations.js";

/**
 * Give each code block in `node` a copy button, beside the `pre` so that it does not scroll with the code.
 *
 * @param {Element} node
 */
function addCopyButtons(node) {
  for (const pre of node.querySelectorAll("pre")) {
    const frame = h("div", { class: "code" });
    pre.replaceWith(frame);
    frame.append(pre, copyButton("Copy code", () => pre.textContent ?? ""));
  }
}

/**
 * Let each link say where it leads: its whole address, and of a picture, which is never loaded by itself, the server.
 *
 * @param {Element} node
 */
function nameLinks(node) {
  for (const link of node.querySelectorAll("a")) {
    link.title = link.href;
    if (link.className === "remote-image") link.append(h("span", { class: "quiet" }, ` (picture at ${link.host})`));
  }
}

/** @param {Element} node  it will not change again */
function dress(node) {
  boxWide(node);
  addCopyButtons(node);
  nameLinks(node);
}

export class BlockList {
  /** @type {{ node: HTMLElement, html: string, open: boolean }[]} */
  #drawn = [];
  /** @type {Element[]} */
  #stored = [];
  /** @type {Map<number, Source>} */
  #cited = new Map();
  #onToggle;

  /** @param {() => void} onToggle  the reader opened or closed something */
  constructor(onToggle) {
    this.#onToggle = onToggle;
    this.node = h("div", { class: "blocks", dir: "auto" });
  }

  /**
   * Show a stored answer, whose markup holds its blocks already.
   *
   * @param {string} html
   */
  showStored(html) {
    this.#drawn = [];
    setHtml(this.node, html);
    this.#stored = [...this.node.children];
    for (const block of this.#stored) block.setAttribute("dir", "auto");
    dress(this.node);
    this.#addCitations(this.node);
  }

  /**
   * Have the text cite these. They may be told of after the text that cites them.
   *
   * @param {Source[]} sources
   */
  cite(sources) {
    if (sources.length === this.#cited.size) return;
    this.#cited = new Map(sources.map((source) => [source.number, source]));
    this.#addCitations(this.node);
  }

  /**
   * @param {Element} node
   * @param {string} html
   */
  #setHtml(node, html) {
    setHtml(node, html);
    this.#addCitations(node);
  }

  /** @param {Element} node */
  #addCitations(node) {
    if (this.#cited.size) addCitations(node, this.#cited, this.#onToggle);
  }

  /**
   * Put something between the blocks, once: what is there already stays where it is.
   *
   * @param {HTMLElement} node
   * @param {number} before  how many blocks stand before it
   */
  place(node, before) {
    if (node.parentNode === this.node) return;
    const next = this.#drawn[before]?.node ?? this.#stored[before] ?? null;
    this.node.insertBefore(node, next);
  }

  /**
   * Bring the page to these blocks.
   *
   * @param {Block[]} blocks
   */
  draw(blocks) {
    blocks.forEach((block, index) => this.#drawBlock(block, index));
  }

  /**
   * @param {Block} block
   * @param {number} index
   */
  #drawBlock(block, index) {
    const known = this.#drawn[index];
    if (known && (!known.open || (known.html === block.html && block.open))) return;
    const drawn = known ?? this.#append(index);
    if (drawn.html !== block.html) keepFocus(drawn.node, () => this.#setHtml(drawn.node, block.html));
    drawn.html = block.html;
    drawn.open = block.open;
    if (!block.open) dress(drawn.node);
  }

  /** @param {number} index */
  #append(index) {
    const node = h("div", { class: "block", dir: "auto" });
    this.node.append(node);
    return (this.#drawn[index] = { node, html: "", open: true });
  }
}
