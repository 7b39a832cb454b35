/** Comparing models: the open comparison, its turns, and the streams of its panes, which end when they are let go. Draws nothing. */

/** @import { Message, Route, StoredMessage, Upload } from "./types.js" */

/**
 * @typedef {{ model: string | null, endpoint_id: string | null, endpoint_label: string | null }} Told  Null while nobody may know.
 * @typedef {Told & { pane: string, name: string, session: string, running: boolean, closed: boolean, history?: StoredMessage[] }} Pane
 * @typedef {object} Comparison
 * @property {string} id
 * @property {string} question
 * @property {boolean} blind
 * @property {string | null} vote  a pane's letter, `tie` or `none`
 * @property {boolean} revealed
 * @property {boolean} running
 * @property {string} created_at
 * @property {Told[]} models
 * @property {Pane[]} panes
 * @typedef {{ model: string, endpoint_label: string, endpoint_id: string, wins: number, ties: number, losses: number, none: number }} Score
 * @typedef {{ key: string, question: Message, answers: Map<string, Message> }} Turn  Answers by the letter of their pane.
 * @typedef {object} View  What the page shows of it.
 * @property {string} id  the open comparison; empty before the first question
 * @property {"choosing" | "loading" | "open" | "failed"} phase
 * @property {Comparison | null} comparison
 * @property {Turn[]} turns
 * @property {Comparison[]} list
 * @property {Score[]} scores
 * @property {boolean} sending
 * @property {string} problem  in words
 */

import { applyEvent, endLive, newLive } from "./answer.js";
import * as api from "./api.js";
import { newGiven } from "./given.js";
import { fromStored, newMessage } from "./history.js";
import { readStream } from "./stream.js";

const LOST = { message: "The connection was lost, and the answer ended with it.", status: null };

/** @returns {View} */
const newView = (id = "") => ({ id, phase: id ? "loading" : "choosing", comparison: null, turns: [], list: [], scores: [], sending: false, problem: "" });

/** @type {{ view: View }} */
export const compare = { view: newView() };

/** The streams that are read, by the session of their pane. @type {Map<string, AbortController>} */
const streams = new Map();

/** @type {() => void} */
let changed = () => undefined;
let keys = 0;

/** Have `listener` called after each change. @param {() => void} listener */
export function onCompareChange(listener) {
  changed = listener;
}

/** @param {View} view @param {unknown} error */
function report(view, error) {
  if (!(error instanceof api.ApiError)) throw error;
  view.problem = error.message;
  changed();
}

/**
 * Open a comparison, or with no id the choice of models. The answers of the one before are ended.
 *
 * @param {string} id
 */
export async function openComparison(id) {
  if (id && id === compare.view.id) return changed();
  for (const stream of streams.values()) stream.abort();
  const view = (compare.view = newView(id));
  changed();
  try {
    if (id) take(view, await api.comparison(id));
    else [view.list, view.scores] = await Promise.all([api.comparisons(), api.scores()]);
    if (id) view.phase = "open";
  } catch (error) {
    if (id) view.phase = "failed";
    report(view, error);
  }
  changed();
}

/** @param {View} view @param {Comparison} comparison  with histories */
function take(view, comparison) {
  view.comparison = comparison;
  view.turns = turnsOf(comparison.panes);
}

/**
 * The questions in their order, each with the answers to it. A pane that was not asked one has none.
 *
 * @param {Pane[]} panes
 * @returns {Turn[]}
 */
export function turnsOf(panes) {
  /** @type {Turn[]} */
  const turns = [];
  for (const { pane, history = [] } of panes) {
    let place = 0;
    for (const [at, stored] of history.entries()) {
      if (stored.role !== "user") continue;
      const found = turns.findIndex(({ question }, index) => index >= place && question.content === stored.content);
      const turn = found < 0 ? newTurn(stored.content, fromStored(stored).given.files) : turns[found];
      if (found < 0) turns.splice(place, 0, turn);
      place = turns.indexOf(turn) + 1;
      turn.answers.set(pane, answerOf(stored, history[at + 1]));
    }
  }
  return turns;
}

/** @param {StoredMessage} question @param {StoredMessage | undefined} next */
function answerOf(question, next) {
  if (next?.role === "assistant") return shown(fromStored(next));
  const metadata = question.metadata?.status || question.metadata?.failure ? question.metadata : null; // why there is no answer
  return newMessage({ key: `${question.id} answer`, role: "assistant", html: "", metadata });
}

/** Without its id there is nothing to delete or to ask again. @param {Message} message */
const shown = (message) => ({ ...message, id: null });

/** @param {string} text @returns {Turn} */
function newTurn(text, files = newGiven().files) {
  const key = `turn ${keys++}`;
  const question = newMessage({ key, role: "user", content: text, given: { ...newGiven(), files } });
  return { key, question, answers: new Map() };
}

/** The panes that the next question goes to. @param {View} view */
export const openPanes = ({ comparison }) => (comparison?.panes ?? []).filter(({ closed }) => !closed);

/** @param {View} view */
export const closedPanes = ({ comparison }) => (comparison?.panes ?? []).filter(({ closed }) => closed);

/** Whether an answer is on its way here. @param {View} view */
export const isAnswering = ({ turns }) => [...(turns.at(-1)?.answers.values() ?? [])].some(({ live }) => live && !live.ended);

/**
 * Ask all open panes; the first question begins the comparison. True once it is on its way.
 *
 * @param {string} text
 * @param {{ routes: Route[], blind: boolean }} choice  for the first question
 * @param {Upload[]} files
 * @returns {Promise<boolean>}
 */
export async function ask(text, { routes, blind }, files) {
  const { view } = compare;
  if (view.sending || isAnswering(view) || !text.trim()) return false;
  Object.assign(view, { sending: true, problem: "" });
  changed();
  try {
    view.comparison ??= await api.createComparison({ panes: routes, blind, question: text });
    if (compare.view !== view) return false;
    Object.assign(view, { id: view.comparison.id, phase: "open" });
    const turn = newTurn(text, files);
    view.turns.push(turn);
    const attachments = files.map(({ id }) => id);
    for (const pane of openPanes(view)) void answer(pane, turn, { message: text, ...(attachments.length && { attachments }) });
    return true;
  } catch (error) {
    report(view, error);
    return false;
  } finally {
    view.sending = false;
    changed();
  }
}

/**
 * One pane's answer, to its end. A failure is this pane's alone.
 *
 * @param {Pane} pane
 * @param {Turn} turn
 * @param {{ message: string, attachments?: string[] }} fields
 */
async function answer({ pane, session }, turn, fields) {
  const live = newLive(session, "");
  const control = new AbortController();
  turn.answers.set(pane, newMessage({ key: `${turn.key} ${pane}`, role: "assistant", live }));
  streams.set(session, control);
  try {
    const response = await api.send(session, { ...fields, compare_mode: true }, control.signal);
    await readStream(response, control.signal, (events) => {
      for (const event of events) applyEvent(live, event);
      changed();
    });
    if (!live.ended && !control.signal.aborted) live.error = LOST;
  } catch (error) {
    if (control.signal.aborted) return;
    live.error = error instanceof api.ApiError ? { message: error.message, status: error.status } : LOST;
    if (!(error instanceof api.ApiError) && !(error instanceof TypeError)) throw error; // a broken body is a TypeError
  } finally {
    if (control.signal.aborted) live.terminal ??= { status: "stopped", stop_reason: "user_stop" };
    endLive(live);
    streams.delete(session);
    changed();
  }
}

/** End a pane's answer: its connection is closed, and that ends the model. @param {Pane} pane */
export const stopPane = ({ session }) => streams.get(session)?.abort();

/**
 * Stop a pane and ask it no more, or bring it back.
 *
 * @param {Pane} pane
 * @param {boolean} closed
 */
export async function closePane(pane, closed) {
  const { view } = compare;
  stopPane(pane);
  pane.closed = closed;
  view.problem = "";
  changed();
  try {
    await api.closePane(view.id, pane.pane, closed);
  } catch (error) {
    report(view, error);
  }
}

/** @param {string} choice  a pane's letter, `tie` or `none` */
export async function vote(choice) {
  const { view } = compare;
  if (!view.comparison) return;
  view.problem = "";
  try {
    await api.vote(view.comparison.id, choice);
    take(view, await api.comparison(view.comparison.id)); // with the names that were hidden, in its answers too
    changed();
  } catch (error) {
    report(view, error);
  }
}

/**
 * A chat with a pane's model and what was said there.
 *
 * @param {Pane} pane
 * @returns {Promise<string>} its id; empty when it cannot be had
 */
export async function keepPane({ pane }) {
  const { view } = compare;
  try {
    return (await api.keepPane(view.id, pane)).id;
  } catch (error) {
    report(view, error);
    return "";
  }
}

/** @param {string} id */
export async function deleteComparison(id) {
  const { view } = compare;
  try {
    await api.deleteComparison(id);
    view.list = view.list.filter((known) => known.id !== id);
    view.scores = await api.scores();
    changed();
  } catch (error) {
    report(view, error);
  }
}
