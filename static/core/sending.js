/** Sending to the open chat: a message, or a decision on a card. Each is sent once. Draws nothing. */

/** @import { Chat, Decision, Live, Message, Upload } from "./types.js" */

import { newLive } from "./answer.js";
import * as api from "./api.js";
import { leaveTarget } from "./branches.js";
import { load, loadEarlier, loaded } from "./chat.js";
import { forgetDraft, keepDraft } from "./drafts.js";
import { newGiven } from "./given.js";
import { newMessage } from "./history.js";
import { isModelMissing, currentRoute } from "./models.js";
import { currentMode, isPlanMode, moveSwitches, setPlanMode } from "./modes.js";
import { documentNow } from "./opened.js";
import { follow } from "./running.js";
import { refreshSessions } from "./sessions.js";
import { currentSession, isLive, set, state, tell } from "./state.js";
import { tellTabs } from "./tabs.js";
import { forgetFiles, moveFiles } from "./uploads.js";
import { isUsed, setUse, usesNow } from "./uses.js";

/** The longest plan that the server takes. */
const PLAN_LIMIT = 8192;

let keys = 0;

/** @param {Chat} chat */
const isOpen = (chat) => state.chat === chat;

/**
 * Do something that starts a run in the open chat, when nothing else is on its way there. What a refusal means, `onError`
 * says: true when the server has it all the same.
 *
 * @param {Chat} chat
 * @param {() => Promise<boolean>} action
 * @param {(error: api.ApiError) => Promise<boolean>} onError
 */
async function once(chat, action, onError) {
  if (chat.sending || isLive()) return false;
  chat.sending = true;
  set({ alert: "" });
  tell("chat");
  try {
    await loaded();
    if (!isOpen(chat) || chat.phase !== "ready" || isLive()) return false;
    return await action();
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    if (await onError(error)) return true;
    if (isOpen(chat) && !chat.gone) set({ alert: error.message });
    return false;
  } finally {
    chat.sending = false;
    if (isOpen(chat)) tell("chat");
  }
}

/**
 * Send a message to the open chat. True once the server has accepted it. When the connection breaks before the answer's
 * first byte, the server is asked whether it has it.
 *
 * @param {string} text
 * @param {object} [more]
 * @param {Message} [more.edits]  the question whose place it takes, on a branch of its own
 * @param {string} [more.approvedPlan]  a plan to carry out
 * @param {Upload[]} [more.files]  files that go with it; the text may be empty then
 * @param {Wishes} [more.wishes]  how it is to be answered, where that is not what is chosen now
 * @returns {Promise<boolean>}
 */
export async function sendMessage(text, { edits, approvedPlan, files = [], wishes } = {}) {
  const { chat } = state;
  if (!text.trim() && !files.length) return false;
  const action = async () => {
    if (await refused()) return false;
    const session = chat.session ?? (await createSession(chat, text));
    const chosen = wishes ?? wishesNow(approvedPlan);
    if (edits && isSecret(chosen)) return false;
    const fields = fieldsOf(text, files, chosen);
    const response = await api.send(session, { ...fields, ...(edits && { parent_id: parentOf(chat, edits) }) });
    if (edits) cut(chat, edits);
    accept(chat, session, { text, files, secret: chosen.incognito === true }, response, edits ? "branch" : "");
    return true;
  };
  return once(chat, action, async ({ status }) => {
    if (status === 404 && chat.session) await load(chat); // tells if the chat is gone
    return !chat.gone && status === 0 && (await arrived(chat, text, files));
  });
}

/**
 * Have the question of this message answered once more. The answers that are there stay, beside the new one.
 *
 * @param {Message} message  the question, or an answer to it
 * @returns {Promise<boolean>} whether the server has accepted it
 */
export async function answerAgain(message) {
  const { chat } = state;
  const { session } = chat;
  const action = async () => {
    if (!session || (await refused())) return false;
    if (!questionOf(chat, message)) await loadEarlier();
    const question = questionOf(chat, message);
    const id = message.id ?? question?.id;
    const chosen = wishesNow();
    if (!id) return question !== null && resend(chat, session, question, chosen);
    if (isSecret(chosen)) return false;
    const response = await api.send(session, { ...fieldsOf("", [], chosen), regenerate: id });
    const place = question && chat.messages[chat.messages.indexOf(question) + 1]?.role === "assistant" ? "again" : "branch";
    if (question) {
      cut(chat, question);
      chat.messages.push({ ...question, metadata: null });
    }
    retireCards(chat);
    begin(chat, session, response, place);
    return true;
  };
  return once(chat, action, async ({ status }) => {
    if (status !== 0 || !session || !(await isRunning(session))) return false;
    chat.sending = false;
    await load(chat);
    return true;
  });
}

/**
 * Send a question anew that is stored nowhere, in place of its turn.
 *
 * @param {Chat} chat
 * @param {string} session
 * @param {Message} question
 * @param {Wishes} chosen
 */
async function resend(chat, session, question, chosen) {
  const { content: text, given } = question;
  const response = await api.send(session, fieldsOf(text, given.files, chosen));
  cut(chat, question);
  accept(chat, session, { text, files: given.files, secret: chosen.incognito === true }, response);
  return true;
}

/** A message that is not stored can take no stored one's place; says so. @param {Wishes} chosen */
function isSecret({ incognito }) {
  if (incognito) set({ alert: "Turn incognito off first: what is stored gets stored versions only." });
  return incognito === true;
}

/** Without a model nothing is sent; says so. */
async function refused() {
  const missing = await isModelMissing();
  if (missing) set({ alert: "Install the embedded model or add an endpoint first. Your message is kept." });
  return missing;
}

/**
 * The question that this message is or answers, if it is loaded.
 *
 * @param {Chat} chat
 * @param {Message} message
 */
export const questionOf = (chat, message) => chat.messages.slice(0, chat.messages.indexOf(message) + 1).findLast(({ role }) => role === "user") ?? null;

/**
 * The message before a question, for the server.
 *
 * @param {Chat} chat
 * @param {Message} question
 */
function parentOf(chat, { key, parent }) {
  const at = chat.messages.findIndex((message) => message.key === key);
  const before = parent !== undefined ? parent : chat.messages.slice(0, at).findLast(({ id }) => id !== null)?.id;
  return before ?? "root";
}

/**
 * Another branch begins in place of this message: what stands from there on is no more shown.
 *
 * @param {Chat} chat
 * @param {Message} message
 */
function cut(chat, { key }) {
  const at = chat.messages.findIndex((one) => one.key === key);
  if (at >= 0) chat.messages = chat.messages.slice(0, at);
  leaveTarget(chat);
}

/** Carry out a plan that was made in plan mode, which ends with this. @param {string} plan */
export async function carryOut(plan) {
  const sent = await sendMessage("Carry out this plan.", { approvedPlan: plan.slice(0, PLAN_LIMIT) });
  if (sent) setPlanMode(false);
  return sent;
}

/** @typedef {Record<string, string | boolean>} Wishes  How a message is to be answered, as the server's fields. */

/**
 * How a message that is sent now is to be answered.
 *
 * @param {string} [approvedPlan]
 * @returns {Wishes}
 */
export function wishesNow(approvedPlan) {
  return {
    ...(currentSession() && currentMode() === "agent" && { plan_mode: !approvedPlan && isPlanMode() }),
    ...usesNow(),
    ...documentNow(),
    ...(approvedPlan && { approved_plan: approvedPlan }),
  };
}

/**
 * @param {string} text
 * @param {Upload[]} files
 * @param {Wishes} wishes
 */
function fieldsOf(text, files, wishes) {
  const route = currentRoute();
  return {
    message: text,
    mode: currentSession() ? currentMode() : undefined, // the server knows it, if the list has not come yet
    selected_model: route?.model,
    selected_endpoint_id: route?.endpoint_id,
    ...(files.length && { attachments: files.map(({ id }) => id) }),
    ...wishes,
  };
}

/**
 * Answer an approval card. A card that can no longer be answered says why.
 *
 * @param {Message} message  the one with the card
 * @param {Decision} decision
 */
export async function decide(message, decision) {
  const { chat } = state;
  const { ask } = message.work;
  const { session } = chat;
  if (!session || !ask || ask.state !== "pending") return false;
  const action = async () => {
    const response = await api.send(session, { tool_approval_id: ask.id, tool_approval_decision: decision });
    ask.state = decision === "deny" ? "denied" : "approved";
    begin(chat, session, response);
    return true;
  };
  return once(chat, action, async ({ status, message: why }) => {
    if (status !== 409 && status !== 0) return false;
    if (status === 409) Object.assign(ask, { state: "retired", problem: why });
    const known = status === 409 || (await isRunning(session));
    chat.sending = false;
    if (known) await load(chat);
    return known;
  });
}

/**
 * The open chat's session, made when it has none yet. Throws ApiError.
 *
 * @param {Chat} chat
 * @param {string} draft  what is being written
 * @returns {Promise<string>}
 */
export async function createSession(chat, draft) {
  const { id } = await api.createSession({ ...currentRoute(), mode: currentMode() });
  chat.session = id;
  keepDraft(null, "");
  keepDraft(id, isUsed("incognito") ? "" : draft);
  moveSwitches(id);
  moveFiles(id);
  if (isOpen(chat)) history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  await refreshSessions();
  return id;
}

/**
 * @param {Chat} chat
 * @param {string} session
 * @param {{ text: string, files: Upload[], secret: boolean }} sent
 * @param {Response} response
 * @param {Live["place"]} [place]
 */
function accept(chat, session, { text, files, secret }, response, place = "") {
  forgetDraft(session, text);
  forgetFiles(session, files);
  if (isOpen(chat) && isUsed("research")) setUse("research", false); // one question at a time
  if (isOpen(chat)) chat.messages.push(newMessage({ key: `new-${(keys += 1)}`, role: "user", content: text, secret, given: { ...newGiven(), files } }));
  retireCards(chat);
  begin(chat, session, response, place);
}

/** An ordinary message takes the place of a decision. @param {Chat} chat */
function retireCards(chat) {
  for (const { work } of chat.messages) {
    if (work.ask?.kind === "approval" && work.ask.state === "pending") work.ask.state = "retired";
  }
}

/**
 * The server has accepted something: follow the run that it starts.
 *
 * @param {Chat} chat
 * @param {string} session
 * @param {Response} response
 * @param {Live["place"]} [place]
 */
function begin(chat, session, response, place = "") {
  tellTabs({ kind: "run", session });
  if (!isOpen(chat)) return void response.body?.cancel();
  follow(chat, newLive(session, api.runIdOf(response), place), response, load);
  void refreshSessions();
}

/**
 * Whether a message whose sending broke off has reached the server all the same.
 *
 * @param {Chat} chat
 * @param {string} text
 * @param {Upload[]} files
 */
async function arrived(chat, text, files) {
  if (!chat.session || !(await isRunning(chat.session, text))) return false;
  forgetDraft(chat.session, text);
  forgetFiles(chat.session, files);
  chat.sending = false;
  await load(chat);
  return true;
}

/**
 * Whether the session has a run that goes on, and of this question, if one is given.
 *
 * @param {string} session
 * @param {string} [text]
 */
async function isRunning(session, text) {
  try {
    const status = await api.streamStatus(session);
    return status?.status === "streaming" && (text === undefined || status.query === text.trim());
  } catch (error) {
    if (error instanceof api.ApiError) return false;
    throw error;
  }
}
