/** The composer's menu of what a message may use: the web, the library, memories, programs; and incognito. */

/** @import { Use } from "../core/uses.js" */

import { byId, h, setText } from "../core/dom.js";
import { currentMode, isWebOn, setWeb } from "../core/modes.js";
import { createPanel } from "../core/panel.js";
import { watch } from "../core/state.js";
import { hasLibrary, isUsed, setUse, setWebAge, webAge } from "../core/uses.js";

const AGES = { "": "of any age", day: "of the last day", week: "of the last week", month: "of the last month", year: "of the last year" };

const button = byId("uses-button", HTMLButtonElement);
const panel = byId("uses-panel", HTMLElement);
const form = byId("composer", HTMLFormElement);
const secret = byId("incognito", HTMLElement);

/**
 * @param {string} text
 * @param {string} about
 * @param {(on: boolean) => void} choose
 */
function createSwitch(text, about, choose) {
  const box = h("input", { type: "checkbox", role: "switch", onchange: () => choose(box.checked) });
  const node = h("label", { class: "check" }, box, h("span", {}, text, h("small", {}, about)));
  return { node, box };
}

/** @type {(use: Use, text: string, about: string) => ReturnType<typeof createSwitch>} */
const useSwitch = (use, text, about) => createSwitch(text, about, (on) => setUse(use, on));

const web = createSwitch("The web", "searched before the answer", setWeb);
const age = h("select", { class: "field", "aria-label": "Age of web results", onchange: () => setWebAge(age.value) }, ...Object.entries(AGES).map(([value, text]) => h("option", { value }, `Results ${text}`)));
const research = useSwitch("research", "Research", "many pages read, for a report with its sources");
const library = useSwitch("library", "The library", "passages of your files");
const memories = useSwitch("memories", "Memories", "what is known of you");
const programs = useSwitch("programs", "Programs", "the shell and Python, as the agent's tools");
const incognito = useSwitch("incognito", "Incognito", "nothing of this is stored");

function draw() {
  web.box.checked = isWebOn();
  age.hidden = !isWebOn();
  age.value = webAge();
  research.box.checked = isUsed("research") && !isUsed("incognito");
  research.box.disabled = isUsed("incognito");
  library.box.checked = isUsed("library");
  memories.box.checked = isUsed("memories") && !isUsed("incognito");
  memories.box.disabled = isUsed("incognito");
  programs.box.checked = isUsed("programs");
  programs.node.hidden = currentMode() !== "agent";
  incognito.box.checked = isUsed("incognito");
  secret.hidden = !isUsed("incognito");
  form.dataset.incognito = String(isUsed("incognito"));
  const changed = [isUsed("research") && !isUsed("incognito") && "research", isWebOn() && webAge() && `web results ${AGES[webAge()]}`, !isUsed("library") && "no library", !isUsed("memories") && "no memories", currentMode() === "agent" && !isUsed("programs") && "no programs", isUsed("incognito") && "incognito"].filter(Boolean);
  button.dataset.changed = String(changed.length > 0);
  const label = ["What this message may use", changed.join(", ")].filter(Boolean).join(": ");
  button.setAttribute("aria-label", label);
  button.title = label;
}

async function fill() {
  web.box.focus();
  library.node.hidden = !(await hasLibrary());
}

export function startUses() {
  const title = h("p", { class: "panel-title", id: "uses-title" });
  setText(title, "What this message may use");
  library.node.hidden = true;
  panel.append(title, web.node, age, research.node, library.node, memories.node, programs.node, incognito.node);
  panel.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault()); // the form around it is the message's
  createPanel(byId("uses", HTMLElement), button, panel, () => void fill());
  watch(["chat", "sessions", "models"], draw);
}
