/** Importing a chat: choose an exported file, and open what it becomes. */

import { ApiError, importChat } from "../core/api.js";
import { h } from "../core/dom.js";
import { addressOf } from "../core/route.js";
import { refreshSessions } from "../core/sessions.js";
import { set } from "../core/state.js";
import { tellTabs } from "../core/tabs.js";

/** Let the reader choose a file. */
export function chooseChat() {
  const input = h("input", { type: "file", accept: ".json,application/json", "aria-label": "Exported chat" });
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file) void takeIn(file);
  });
  input.click();
}

/** @param {File} file */
async function takeIn(file) {
  try {
    const { id } = await importChat(file);
    tellTabs({ kind: "sessions" });
    await refreshSessions();
    location.hash = addressOf(id);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    set({ alert: error.message });
  }
}
