/** The way to the settings: their address opens them. The dialog and its sections come when they are first wanted. */

import { loadPart, loadStyle } from "../core/lazy.js";
import { readAddress, settingsAddress } from "../core/route.js";

/** @type {typeof import("./settings/dialog.js") | null} */
let dialog = null;

/** Go to a section of the settings. @param {string} [section]  empty is the first */
export function openSettings(section = "") {
  location.hash = settingsAddress(section);
}

/** Open or close the settings, as the address says. @returns {Promise<boolean>} whether they are open */
export async function followSettings() {
  const { settings } = readAddress();
  if (settings === null) {
    dialog?.hideSettings();
    return false;
  }
  const parts = await loadPart("The settings", () => Promise.all([import("./settings/dialog.js"), loadStyle("settings")]));
  if (!parts) return false;
  [dialog] = parts;
  const now = readAddress();
  dialog.showSettings(now.settings ?? settings, now.item);
  return true;
}
