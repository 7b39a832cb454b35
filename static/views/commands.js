/** The page's own commands, and the keys that its parts listen to themselves. */

/** @import { Command } from "../core/commands.js" */

import { exportAddress } from "../core/api.js";
import { copyText } from "../core/clipboard.js";
import { addCommands, startKeys } from "../core/commands.js";
import { byId } from "../core/dom.js";
import { loadPart } from "../core/lazy.js";
import { currentMode, setMode } from "../core/modes.js";
import { canNotify, isNotifying, setNotifying, startNotify } from "../core/notify.js";
import { stopAnswer } from "../core/running.js";
import { say } from "../core/said.js";
import { answerAgain } from "../core/sending.js";
import { moveSession } from "../core/sessions.js";
import { currentSession, isLive, state } from "../core/state.js";
import { setTheme } from "../core/theme.js";
import { isLast } from "../core/turns.js";

/**
 * @typedef {object} Ways  What the commands open that belongs to other views.
 * @property {(section?: string) => void} settings
 * @property {() => void} models
 * @property {() => void} chats
 * @property {() => void} seen
 * @property {() => void} research
 */

const openPalette = async () => (await loadPart("The palette", () => import("./palette.js")))?.showPalette();
const openHelp = async () => (await loadPart("The list of keys", () => import("./help.js")))?.showHelp();
const openFind = async () => (await loadPart("The search", () => import("./find.js")))?.showFind();

const hasChat = () => state.chat.session !== null && state.chat.phase === "ready";
const answer = () => state.chat.messages.findLast(({ role }) => role === "assistant");

async function copyAnswer() {
  const message = answer();
  if (message) say((await copyText(message.live?.text || message.content)) ? "Copied." : "It could not be copied.");
}

/** @param {"md" | "json"} format */
function exportChat(format) {
  const { session } = state.chat;
  if (!session) return;
  const link = document.createElement("a");
  link.href = exportAddress(session, format);
  link.download = "";
  link.click();
}

/**
 * Open the menu of the open chat in the list and press one of its buttons: what it asks is asked there.
 *
 * @param {string} name
 * @param {() => void} showChats
 */
function inList(name, showChats) {
  const row = document.querySelector("#sessions .session:has([aria-current])");
  if (!row) return;
  const more = row.querySelector(".more");
  if (!more?.checkVisibility()) showChats();
  if (more instanceof HTMLElement && more.getAttribute("aria-expanded") !== "true") more.click();
  const button = [...row.querySelectorAll(".row-actions button")].find(({ textContent }) => textContent === name);
  if (button instanceof HTMLElement) button.click();
}

/** @param {{ pinned?: boolean, archived?: boolean }} changes */
const move = (changes) => state.chat.session && void moveSession(state.chat.session, changes);

/** @param {Ways} ways @returns {Command[]} */
const ofChat = (ways) => [
  { id: "new", title: "New chat", group: "Chats", keys: "Mod+Shift+O", run: () => (location.hash = "") },
  { id: "find", title: "Find in this chat", group: "Chats", keys: "Mod+Shift+F", words: "search", when: hasChat, run: () => void openFind() },
  { id: "chats", title: "Search everything", group: "Chats", words: "find list chats documents memories library", run: ways.chats },
  { id: "rename", title: "Rename this chat", group: "Chats", when: hasChat, run: () => inList("Rename", ways.chats) },
  { id: "pin", title: "Pin this chat", group: "Chats", when: () => hasChat() && !currentSession()?.pinned, run: () => move({ pinned: true }) },
  { id: "unpin", title: "Unpin this chat", group: "Chats", when: () => currentSession()?.pinned === true, run: () => move({ pinned: false }) },
  { id: "archive", title: "Archive this chat", group: "Chats", when: () => hasChat() && !currentSession()?.archived, run: () => move({ archived: true }) },
  { id: "export", title: "Export this chat as Markdown", group: "Chats", words: "save download", when: hasChat, run: () => exportChat("md") },
  { id: "export-json", title: "Export this chat as JSON", group: "Chats", words: "save download", when: hasChat, run: () => exportChat("json") },
  { id: "delete", title: "Delete this chat…", group: "Chats", words: "remove", when: hasChat, run: () => inList("Delete", ways.chats) },
];

/** @param {Ways} ways @returns {Command[]} */
const ofAnswer = (ways) => [
  { id: "stop", title: "Stop the answer", group: "Answers", keys: "Escape", when: isLive, run: () => void stopAnswer() },
  { id: "again", title: "Regenerate the last answer", group: "Answers", words: "try again retry", when: () => isLast(answer() ?? /** @type {any} */ (null)), run: () => void again() },
  { id: "copy", title: "Copy the last answer", group: "Answers", when: () => answer() !== undefined, run: () => void copyAnswer() },
  { id: "before", title: "Previous version of a message", group: "Answers", keys: "[", words: "branch", when: () => wayTo("before") !== null, run: () => wayTo("before")?.click() },
  { id: "after", title: "Next version of a message", group: "Answers", keys: "]", words: "branch", when: () => wayTo("after") !== null, run: () => wayTo("after")?.click() },
  { id: "model", title: "Switch model", group: "Answers", run: ways.models },
  { id: "agent", title: "Switch to agent mode", group: "Answers", when: () => currentMode() === "chat", run: () => void setMode("agent") },
  { id: "chat", title: "Switch to chat mode", group: "Answers", when: () => currentMode() === "agent", run: () => void setMode("chat") },
  { id: "seen", title: "Show what the model sees", group: "Answers", words: "context tokens window", when: hasChat, run: ways.seen },
  { id: "research", title: "Research", group: "Answers", words: "web sources report find out", run: ways.research },
];

/** The way to another version: of the message that has the focus, else of the last one that has versions. @param {"before" | "after"} step */
function wayTo(step) {
  const own = document.activeElement?.closest("article.message")?.querySelector(".switch:not([hidden])");
  const its = own ?? [...document.querySelectorAll("#log .switch:not([hidden])")].at(-1);
  const way = its?.querySelector(`[data-step="${step}"]:enabled`);
  return way instanceof HTMLElement ? way : null;
}

async function again() {
  const message = answer();
  if (message) await answerAgain(message);
}

/** @param {boolean} on */
async function notify(on) {
  const now = await setNotifying(on);
  if (now) startNotify();
  say(now ? "You will be notified." : on ? "The browser does not allow notifications here." : "Notifications are off.");
}

/** @param {Ways} ways @returns {Command[]} */
const ofPage = (ways) => [
  { id: "palette", title: "Commands, chats and documents by name", group: "The page", keys: "Mod+K", run: () => void openPalette() },
  { id: "help", title: "Keys", group: "The page", keys: "?", words: "help shortcuts keyboard", run: () => void openHelp() },
  { id: "write", title: "Go to the message field", group: "The page", keys: "Shift+Escape", run: () => byId("message", HTMLTextAreaElement).focus() },
  { id: "notify", title: "Notify me when a hidden answer is finished", group: "The page", when: () => canNotify() && !isNotifying(), run: () => void notify(true) },
  { id: "quiet", title: "No more notifications", group: "The page", when: isNotifying, run: () => void notify(false) },
  { id: "light", title: "Light colours", group: "The page", words: "theme", run: () => setTheme("light") },
  { id: "dark", title: "Dark colours", group: "The page", words: "theme", run: () => setTheme("dark") },
  { id: "system", title: "Colours as the system", group: "The page", words: "theme", run: () => setTheme("system") },
  ...["endpoints", "tools", "agents", "memories", "library", "appearance", "notifications", "about"].map((section) => ({
    id: `settings-${section}`,
    title: `Settings: ${section}`,
    group: "The page",
    run: () => ways.settings(section),
  })),
];

/** Keys that the composer listens to itself. @type {Command[]} */
const WRITING = [
  { id: "enter", title: "Send, or queue while an answer comes", group: "Writing", keys: "Enter" },
  { id: "break", title: "New line", group: "Writing", keys: "Shift+Enter" },
  { id: "end", title: "Go to the latest and follow it", group: "Answers", keys: "End" },
];

/**
 * @param {Ways} ways
 * @param {KeyboardEvent} first  the key that they were loaded for
 */
export function startCommands(ways, first) {
  addCommands([...WRITING, ...ofChat(ways), ...ofAnswer(ways), ...ofPage(ways)]);
  startKeys(first);
}
