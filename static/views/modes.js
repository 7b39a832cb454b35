/** The composer's switches: the web, chat or agent, and in agent mode whether it plans first and the folder it works in. */

import { byId, setText } from "../core/dom.js";
import { currentMode, currentWorkspace, isPlanMode, isWebOn, setMode, setPlanMode, setWeb, setWorkspace } from "../core/modes.js";
import { createPanel } from "../core/panel.js";
import { createSession } from "../core/sending.js";
import { ApiError } from "../core/api.js";
import { state, watch } from "../core/state.js";
import { isUsed } from "../core/uses.js";

const group = byId("mode", HTMLElement);
const agent = byId("agent", HTMLElement);
const plan = byId("plan-mode", HTMLButtonElement);
const web = byId("use-web", HTMLButtonElement);
const button = byId("workspace-button", HTMLButtonElement);
const name = byId("workspace-name", HTMLElement);
const path = byId("workspace-path", HTMLInputElement);
const result = byId("workspace-result", HTMLElement);
const use = byId("workspace-set", HTMLButtonElement);
const clear = byId("workspace-clear", HTMLButtonElement);
const field = byId("message", HTMLTextAreaElement);
const panel = createPanel(byId("workspace", HTMLElement), button, byId("workspace-panel", HTMLElement), fill);

function draw() {
  const mode = currentMode();
  for (const choice of group.querySelectorAll("button")) choice.setAttribute("aria-pressed", String(choice.dataset.mode === mode));
  agent.hidden = mode !== "agent";
  plan.setAttribute("aria-pressed", String(isPlanMode()));
  web.setAttribute("aria-pressed", String(isWebOn()));
  const folder = currentWorkspace();
  setText(name, folder ? nameOf(folder) : "Own folder");
  button.title = folder || "A folder of this chat's own";
  const asks = isUsed("research") && !isUsed("incognito");
  field.placeholder = asks ? "What shall be found out?" : mode === "chat" ? "Write a message" : isPlanMode() ? "What shall be planned?" : "What shall be done?";
}

/** The last part of a path. @param {string} folder */
const nameOf = (folder) => folder.split(/[\\/]/).filter(Boolean).at(-1) ?? folder;

function fill() {
  path.value = currentWorkspace();
  clear.hidden = !path.value;
  setText(result, "");
  path.select();
  path.focus();
}

/** @param {string} folder */
async function choose(folder) {
  if (use.disabled) return;
  use.disabled = true;
  try {
    const session = state.chat.session ?? (await createSession(state.chat, field.value));
    const refused = await setWorkspace(session, folder);
    setText(result, refused);
    if (refused) path.focus();
    else panel.close(true);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    setText(result, error.message);
  } finally {
    use.disabled = false;
  }
}

export function startModes() {
  watch(["chat", "sessions", "models"], draw);
  group.addEventListener("click", ({ target }) => {
    const mode = target instanceof Element && target.closest("button")?.dataset.mode;
    if (mode && mode !== currentMode()) void setMode(mode === "agent" ? "agent" : "chat");
  });
  plan.addEventListener("click", () => setPlanMode(!isPlanMode()));
  web.addEventListener("click", () => setWeb(!isWebOn()));
  use.addEventListener("click", () => void choose(path.value.trim()));
  clear.addEventListener("click", () => void choose(""));
  path.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // the form around it is the message's
    void choose(path.value.trim());
  });
}
