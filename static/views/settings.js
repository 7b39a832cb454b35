/** The way to the settings: their address opens them. The dialog and its sections come when they are first wanted. */

import { loadStyle } from "../core/lazy.js";
import { readAddress, settingsAddress } from "../core/route.js";
import { set } from "../core/state.js";

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
  try {
    const [loaded] = await Promise.all([import("./settings/dialog.js"), loadStyle("settings")]);
    dialog = loaded;
  } catch (error) {
    console.warn("The settings cannot be loaded.", error);
    set({ alert: "The settings cannot be loaded. Is the server still running?" });
    return false;
  }
  dialog.showSettings(readAddress().settings ?? settings);
  return true;
}
