/**
 * What the page can do by name and by key: one list, from which the palette, the help sheet and the keys are made. A view
 * adds its own commands with `addCommands`. Draws nothing.
 */

import { isMac } from "./dom.js";

/**
 * @typedef {object} Command
 * @property {string} id
 * @property {string} title  as a short order: "New chat"
 * @property {string} group  the heading it is listed under in the help sheet
 * @property {string} [keys]  like `Mod+Shift+F`; `Mod` is Command on a Mac and Control elsewhere
 * @property {string} [words]  other words it may be looked for by
 * @property {() => boolean} [when]  whether it can be done now; absent: always
 * @property {() => void} [run]  absent for a key that a field of its own listens to
 */

/** @type {Map<string, Command>} */
const known = new Map();

/** A command with the id of another takes its place. @param {Command[]} commands */
export function addCommands(commands) {
  for (const command of commands) known.set(command.id, command);
}

export const allCommands = () => [...known.values()];

/** Those that can be done now. */
export const possibleCommands = () => allCommands().filter(({ run, when }) => run && (when?.() ?? true));

/** How keys are written for a reader. @param {string} keys */
export const keyNames = (keys) => keys.split("+").map((key) => ({ Mod: isMac ? "⌘" : "Ctrl", Shift: isMac ? "⇧" : "Shift" })[key] ?? key);

/**
 * @param {KeyboardEvent} event
 * @param {string} keys
 */
function matches(event, keys) {
  const parts = keys.split("+");
  const key = parts.at(-1)?.toLowerCase();
  const mod = isMac ? event.metaKey : event.ctrlKey;
  const other = isMac ? event.ctrlKey : event.metaKey;
  const sign = /^[^\p{L}\p{N}]$/u.test(key ?? ""); // it is where the layout has it, with whatever keys that needs
  const held = sign || (event.shiftKey === parts.includes("Shift") && !event.altKey);
  return event.key.toLowerCase() === key && mod === parts.includes("Mod") && held && !other;
}

/** Whether keys without Control or Command belong to what has the focus. @param {EventTarget | null} target */
const isWriting = (target) => target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (!event.defaultPrevented && !event.isComposing && event.keyCode !== 229) act(event);
}

/** @param {KeyboardEvent} event */
function act(event) {
  const command = possibleCommands().find(({ keys }) => keys && matches(event, keys));
  if (!command || (!command.keys?.includes("Mod") && isWriting(event.target))) return;
  if (document.querySelector("dialog[open]")) return; // an open dialog comes first
  event.preventDefault();
  command.run?.();
}

/** @param {KeyboardEvent} first  the key that came before anyone listened */
export function startKeys(first) {
  document.addEventListener("keydown", onKey);
  act(first);
}
