/** One message of the transcript: the user's words, or an answer with its label, reasoning, blocks, doings and last line. */

/** @import { Row } from "../core/dom.js" */
/** @import { Message } from "../core/types.js" */
/** @import { AgentDeeds } from "./doings.js" */
/** @import { Deeds as FootDeeds } from "./foot.js" */

/** @typedef {FootDeeds & AgentDeeds & { resend: (message: Message, text: string) => Promise<boolean> }} Deeds */

import { h, setText } from "../core/dom.js";
import { keepEdit, readEdit } from "../core/drafts.js";
import { allFigures, mainFigures, shortFigures } from "../core/figures.js";
import { loadPart } from "../core/lazy.js";
import { isWaiting } from "../core/progress.js";
import { citedOf } from "../core/sources.js";
import { hasQuestion, isLastAnswer, runOf, undoChanges } from "../core/turns.js";
import { isUsed } from "../core/uses.js";
import { endedEarly, outcome, standIn } from "../core/words.js";
import { BlockList } from "./blocks.js";
import { createDoings } from "./doings.js";
import { createFiles } from "./files.js";
import { createFoot } from "./foot.js";
import { createReasoning } from "./reasoning.js";
import { createResearch } from "./research.js";
import { createSources } from "./sources.js";

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @param {() => void} onToggle  the reader opened something: the view should stay where it is
 * @returns {Row<Message>}
 */
export function createMessage(message, deeds, onToggle) {
  return message.role === "user" ? createQuestion(message, deeds) : createAnswer(message, deeds, onToggle);
}

/** The line that says how a run ended. Hidden while there is nothing to say. */
function createOutcome() {
  const node = h("p", { class: "outcome", hidden: true });
  return {
    node,
    /** @param {{ text: string, tone: string }} ending */
    draw(ending) {
      setText(node, ending.text);
      node.hidden = !ending.text;
      node.dataset.tone = ending.tone;
    },
  };
}

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @returns {Row<Message>}
 */
function createQuestion(message, deeds) {
  const text = h("div", { class: "bubble", dir: "auto" });
  const files = createFiles();
  const ending = createOutcome();
  /** @type {HTMLElement | null} */
  let editor = null;
  const foot = createFoot("message", () => message.content, act, deeds.show);
  const node = h("article", { class: "message question", "aria-label": "You" }, text, files.node, ending.node, foot.node);

  /** @param {"again" | "fork" | "remove" | "edit" | "undo"} deed */
  function act(deed) {
    if (deed === "edit") void edit(true);
    else if (deed !== "undo") deeds[deed](message);
  }

  /** @param {boolean} focus */
  async function edit(focus) {
    const part = await loadPart("The editor", () => import("./edit.js"));
    if (!part) return;
    const ways = { send: (/** @type {string} */ words) => deeds.resend(message, words), leave, keep };
    editor ??= await part.createEditor(kept() || message.content, ways, focus);
    text.replaceWith(editor);
    foot.node.hidden = true;
  }

  const kept = () => (message.id ? readEdit(message.id) : "");

  /** @param {string} words */
  function keep(words) {
    if (message.id) keepEdit(message.id, isUsed("incognito") || words === message.content ? "" : words);
  }

  function leave() {
    keep("");
    const focused = editor?.contains(document.activeElement);
    editor?.replaceWith(text);
    editor = null;
    foot.node.hidden = false;
    if (focused) foot.toEdit();
  }

  if (kept()) void edit(false);

  return {
    node,
    update(now) {
      message = now;
      const { content, metadata } = message;
      setText(text, content);
      text.hidden = !content;
      files.draw(message);
      ending.draw(metadata ? outcome(metadata) : { text: "", tone: "quiet" });
      foot.draw(message, { figures: "", all: "", text: content !== "", early: endedEarly(metadata), asked: message.id !== null, undo: false });
    },
  };
}

/** What came of undoing an answer's changes: a line, once it was asked for. */
function createUndo() {
  const node = h("p", { class: "undone", role: "status", tabindex: -1, hidden: true });
  let done = false;
  return {
    node,
    /** @param {Message} message */
    canDo: ({ work, metadata, live }) => !done && !metadata?.undone && runOf({ metadata, live }) !== "" && work.rows.some(({ diff, state }) => diff && state === "done"),
    /** @param {Message} message */
    async act(message) {
      done = true; // it is not asked for twice
      const result = await undoChanges(message);
      done = result.done;
      setText(node, result.text);
      node.dataset.tone = done ? "quiet" : "bad";
      node.hidden = false;
      if (document.activeElement === document.body) node.focus({ preventScroll: true });
    },
  };
}

/**
 * @param {Message} message
 * @param {Deeds} deeds
 * @param {() => void} onToggle
 * @returns {Row<Message>}
 */
function createAnswer(message, deeds, onToggle) {
  let content = "";
  let stored = "";
  const label = h("p", { class: "label model" });
  const fallback = h("p", { class: "label fallback" });
  const reasoning = createReasoning(onToggle);
  const research = createResearch();
  const blocks = new BlockList(onToggle);
  const doings = createDoings(blocks, () => message, deeds, onToggle);
  const waiting = h("div", { class: "waiting", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
  const ending = createOutcome();
  const undo = createUndo();
  const sources = createSources(onToggle);
  const foot = createFoot("answer", () => content, (deed) => (deed === "undo" ? takeBack() : deed !== "edit" && deeds[deed](message)), deeds.show);
  const body = [label, fallback, doings.decision, research.node, reasoning.node, blocks.node, waiting, sources.node, doings.cards, ending.node, undo.node, foot.node];
  const node = h("article", { class: "message answer", "aria-label": "Answer" }, ...body);

  async function takeBack() {
    const undoing = undo.act(message);
    draw();
    await undoing;
    draw();
  }

  function draw() {
    const { live, metadata } = message;
    const running = live !== null && !live.ended;
    content = live?.text || message.content;
    setText(label, metadata?.model || live?.model || "");
    setText(fallback, standIn(live?.fallback ?? metadata?.fallback));
    label.title = live?.endpointLabel || metadata?.endpoint_label || "";
    reasoning.draw(live?.thinking || metadata?.thinking || "", running && !live.blocks.length);
    blocks.cite(citedOf(message.given));
    if (live) blocks.draw(live.blocks);
    else if (message.html !== null && message.html !== stored) blocks.showStored((stored = message.html));
    doings.draw();
    research.draw(message);
    sources.draw(message.given);
    waiting.hidden = !live || !isWaiting(live);
    foot.node.hidden = running;
    if (running) return ending.draw({ text: "", tone: "quiet" });
    const record = metadata ?? live?.terminal ?? null;
    ending.draw(outcome(record, live?.error ?? null));
    const early = endedEarly(record, live?.error ?? null);
    const metrics = live?.metrics ?? null;
    const numbers = (isLastAnswer(message) ? mainFigures : shortFigures)(metrics, metadata);
    const all = allFigures(metrics, metadata);
    foot.draw(message, { figures: numbers, all, text: content !== "", early, asked: hasQuestion(message), undo: undo.canDo(message) });
  }

  return {
    node,
    update(now) {
      message = now;
      draw();
    },
  };
}
