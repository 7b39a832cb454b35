/** Starts the page: the views, the address, other tabs, and what happens when the tab is hidden or shown. */

import { openChat, syncChat } from "./core/chat.js";
import { readChoice } from "./core/choice.js";
import { byId, isMac } from "./core/dom.js";
import { loadPart, loadStyle, once } from "./core/lazy.js";
import { currentEndpoint, joinInstall, refreshModels, watchInstall } from "./core/models.js";
import { hearQueues, readQueue } from "./core/queue.js";
import { keepPage, startPresence } from "./core/presence.js";
import { COMPARE, readAddress } from "./core/route.js";
import { pauseChat, resumeRun } from "./core/running.js";
import { refreshSessions } from "./core/sessions.js";
import { currentSession, isLive, set, state, tell, watch } from "./core/state.js";
import { hearTabs } from "./core/tabs.js";
import { readText } from "./core/storage.js";
import { startUnread } from "./core/unread.js";
import { startAttach } from "./views/attach.js";
import { rewrite, startComposer } from "./views/composer.js";
import { startControl } from "./views/control.js";
import { documentWritten, showDocuments, startDocuments } from "./views/documents.js";
import { showChats, startFrame } from "./views/frame.js";
import { startModes } from "./views/modes.js";
import { openPicker, startPicker } from "./views/picker.js";
import { startSessions } from "./views/sessions.js";
import { followSettings, openSettings } from "./views/settings.js";
import { startStatus } from "./views/status.js";
import { followAnswer, startTranscript } from "./views/transcript.js";
import { startUses } from "./views/uses.js";

/** A hidden tab keeps its stream this long, so that a short look elsewhere costs nothing. */
const HIDDEN_MS = 4000;

/** Coming back fires several events at once; one look is enough. */
const LOOK_MS = 50;

const searchField = byId("search", HTMLInputElement);
const seenButton = byId("seen-open", HTMLButtonElement);

let hiding = 0;
let looking = 0;
/** The last key for the commands while they are loaded. @type {KeyboardEvent | null} */
let pressed = null;

/** What stands in the chat's place: the comparison, which is loaded when it is first opened. @param {string} id */
async function openCompare(id) {
  if (!document.body.dataset.place) void openChat(null);
  document.body.dataset.place = COMPARE;
  const part = await loadPart("The comparison", () => import("./views/compare.js"));
  if (!document.body.dataset.place) return;
  if (part) return part.showCompare(id);
  history.replaceState(null, "", "#"); // so that the same link leads there again
  closeCompare();
}

function closeCompare() {
  if (!document.body.dataset.place) return;
  delete document.body.dataset.place;
  tell("chat");
}

function openAddress() {
  const { session, message, settings } = readAddress();
  void followSettings();
  if (settings !== null) return;
  if (session === COMPARE) return void openCompare(message ?? "");
  closeCompare();
  if (session !== state.chat.session || message) void openChat(session, message);
}

function lookAgain() {
  clearTimeout(looking);
  looking = setTimeout(() => {
    void syncChat();
    void refreshSessions();
    void joinInstall();
  }, LOOK_MS);
}

/** Nothing is followed in a hidden tab; the list of chats tells what has ended. */
function letGo() {
  pauseChat();
  void refreshSessions();
}

/** Once its run has ended, as the list says, a hidden tab hears how: what waits behind it is to be sent. */
function hearEnd() {
  if (document.visibilityState === "hidden" && isLive() && currentSession()?.running === false) resumeRun();
}

function onBack() {
  lookAgain();
  void refreshModels();
}

function onVisibility() {
  clearTimeout(hiding);
  if (document.visibilityState === "hidden") hiding = setTimeout(letGo, HIDDEN_MS);
  else lookAgain();
}

/** An open chat that is in no list may have been deleted in another tab. */
function lookAtLost() {
  if (state.chat.session && !currentSession()) void syncChat();
}

/** @param {import("./core/tabs.js").News} news */
function onNews(news) {
  if (news.kind === "models") return void Promise.all([refreshModels(), watchInstall()]);
  const hidden = document.visibilityState === "hidden";
  if (hidden && news.kind !== "run") return;
  const refreshed = refreshSessions();
  if (!hidden && news.kind === "sessions") void refreshed.then(lookAtLost);
  if (!hidden && news.kind === "run" && news.session === state.chat.session) void syncChat();
}

/** The commands are loaded with the first key that may be one of theirs; the last that came by then is given to them. @param {KeyboardEvent} event */
async function onFirstKey(event) {
  const mod = event.ctrlKey || event.metaKey;
  const theirs = mod ? /^[kof]$/i.test(event.key) : /^[?[\]]$/.test(event.key) || (event.key === "Escape" && event.shiftKey);
  if (!theirs || event.defaultPrevented) return;
  if (mod && (event.shiftKey || /k/i.test(event.key))) event.preventDefault(); // the browser's own meaning of it
  const loading = pressed !== null;
  pressed = event;
  if (loading) return;
  const part = await loadPart("The commands", () => import("./views/commands.js"));
  const last = pressed;
  pressed = null;
  if (!part) return;
  document.removeEventListener("keydown", onFirstKey);
  part.startCommands({ research: () => void openResearch(), settings: openSettings, models: openPicker, chats: showChats, seen: () => void openSeen() }, last);
}

/** The way to the commands without their keys: as if these had been pressed. */
function pressForCommands() {
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: !isMac, metaKey: isMac, cancelable: true }));
}

/** Notifications cost nothing where they are not wanted. */
async function startNotices() {
  if (readText("odysseus.notify", "The wish for notifications") !== "on") return;
  (await loadPart("The notices", () => import("./core/notify.js")))?.startNotify();
}

const startQueue = once(
  () => loadPart("The list of what waits", () => Promise.all([import("./core/queueing.js"), import("./views/queue.js")])),
  ([sender, view]) => {
    sender.startQueues();
    return view.showQueue(rewrite);
  },
);

/** What waits to be sent is looked after from the first message on. */
function showQueue() {
  if (readQueue(state.chat.session).length) void startQueue();
}

const startMissing = once(
  () => loadPart("The notice on the embedded model", () => import("./views/missing.js")),
  (part) => part.startMissing(openEndpoints),
);

/** The embedded model that is not there, or is being fetched, is a view for few. */
function showMissing() {
  const { kind, state: its } = currentEndpoint() ?? {};
  if (state.install.state === "running" || (kind === "local" && its === "missing")) void startMissing();
}

const startMeter = once(
  () => loadPart("How full the window is", () => import("./views/meter.js")),
  (part) => part.startMeter(() => void openSeen()),
);

/** How full the window is shows as soon as there is something in it. */
function showMeter() {
  if (state.chat.session && state.chat.messages.length) void startMeter();
}

async function startSearch() {
  let enter = false;
  const note = (/** @type {KeyboardEvent} */ { key }) => (enter = key === "Enter");
  searchField.addEventListener("keydown", note);
  const part = await loadPart("The search", () => import("./views/search.js"));
  searchField.removeEventListener("keydown", note);
  if (part) void part.startSearch(enter);
  else searchField.addEventListener("focus", () => void startSearch(), { once: true });
}

async function openSeen() {
  await (await loadPart("What the model sees", () => import("./views/seen.js")))?.showSeen();
}

async function openResearch() {
  const parts = await loadPart("The research", () => Promise.all([import("./views/research-panel.js"), loadStyle("research")]));
  parts?.[0].showResearch();
}

const openEndpoints = () => openSettings("endpoints");

startUnread();
startFrame();
startSessions();
searchField.addEventListener("focus", () => void startSearch(), { once: true });
startTranscript();
startComposer(followAnswer);
startAttach();
startStatus();
startPicker(openEndpoints);
startModes();
startUses();
startDocuments();
startControl({ settings: openSettings, models: openPicker, chats: showChats, research: () => void openResearch(), documents: showDocuments, written: documentWritten });
document.addEventListener("keydown", onFirstKey);
byId("commands-open", HTMLButtonElement).addEventListener("click", pressForCommands);
addEventListener("storage", () => void startNotices()); // another tab may have been asked for them
void startNotices();

addEventListener("hashchange", openAddress);
document.addEventListener("visibilitychange", onVisibility);
addEventListener("focus", lookAgain);
addEventListener("online", lookAgain);
hearTabs(onNews);
startPresence(onBack);
addEventListener("load", keepPage);
hearQueues();
watch(["sessions"], hearEnd);
watch(["chat", "queue"], showQueue);
watch(["models", "install", "chat", "sessions", "choice"], showMissing);
watch(["chat"], showMeter);
watch(["chat"], () => (seenButton.hidden = !state.chat.session));
seenButton.addEventListener("click", () => void openSeen());
byId("research-open", HTMLButtonElement).addEventListener("click", () => void openResearch());

set({ choice: readChoice() });
openAddress();
void refreshSessions();
void refreshModels().then(watchInstall);
