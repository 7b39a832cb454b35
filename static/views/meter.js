/** The ring in the composer that shows how full the model's window is, and the sheet that it opens. Loaded with a chat's first messages. */

/** @import { Fullness } from "../core/window.js" */

import { byId, h, setText } from "../core/dom.js";
import { refreshWindow, windowNow } from "../core/gauge.js";
import { loadPart, loadStyle } from "../core/lazy.js";
import { createPanel } from "../core/panel.js";
import { isLive, state, watch } from "../core/state.js";
import { readyFiles } from "../core/uploads.js";
import { draftTokens, fullness, percentText, spokenFullness } from "../core/window.js";

const SVG = "http://www.w3.org/2000/svg";

const field = byId("message", HTMLTextAreaElement);
const text = h("span", { class: "meter-text", "aria-hidden": "true" });
const ring = createRing();
const button = h("button", { id: "context-button", type: "button", class: "icon-button", "aria-haspopup": "true", "aria-expanded": "false", "aria-controls": "context-panel" }, ring.node, text);
const panel = h("div", { id: "context-panel", class: "panel", role: "group", "aria-label": "Context", hidden: true });
const root = h("div", { id: "context", hidden: true }, button, panel);
const words = h("p", { id: "context-said", role: "status", hidden: true });

/** An arc of each circle is drawn: `mark` of it is a tick. */
function createRing() {
  const node = document.createElementNS(SVG, "svg");
  node.setAttribute("viewBox", "0 0 24 24");
  node.setAttribute("class", "ring");
  node.setAttribute("aria-hidden", "true");
  const [track, arc, mark] = ["ring-track", "ring-arc", "ring-mark"].map(circle);
  node.append(...[track, arc, mark].filter((one) => one !== undefined));
  return {
    node,
    /** @param {Fullness} full */
    draw(full) {
      arc?.setAttribute("stroke-dasharray", `${full.percent.toFixed(1)} 100`);
      mark?.setAttribute("stroke-dashoffset", (-full.mark).toFixed(1));
    },
  };
}

/** @param {string} kind */
function circle(kind) {
  const node = document.createElementNS(SVG, "circle");
  const shape = { class: kind, cx: 12, cy: 12, r: 8.5, pathLength: 100, transform: "rotate(-90 12 12)" };
  for (const [name, value] of Object.entries(shape)) node.setAttribute(name, String(value));
  if (kind === "ring-mark") node.setAttribute("stroke-dasharray", "2 98");
  return node;
}

/** What is written and not sent, in tokens. */
const draft = () => draftTokens(field.value, readyFiles());

/** @returns {Fullness | null} */
function fullNow() {
  const seen = windowNow();
  if (!seen) return null;
  const { live } = state.chat;
  if (live && isLive() && live.used) return fullness(seen, live.used, true);
  const added = draft();
  return fullness(seen, seen.used + added, seen.estimated || added > 0);
}

function draw() {
  const full = fullNow();
  root.hidden = !full;
  const comes = (!isLive() && full?.comes) || "";
  setText(words, comes);
  words.hidden = !comes;
  if (!full) return;
  const label = [spokenFullness(full), comes].filter(Boolean).join(". ");
  if (button.title === label) return;
  button.setAttribute("aria-label", label);
  button.title = label;
  root.dataset.level = full.level;
  setText(text, percentText(full.percent));
  ring.draw(full);
}

/** @param {() => void} onSeen */
async function open(onSeen) {
  const part = await loadPart("How full the window is", () => import("./meter-sheet.js"));
  await part?.fillSheet(panel, draft(), onSeen);
}

/**
 * Show the meter from now on.
 *
 * @param {() => void} showSeen  opens what the model sees
 */
export async function startMeter(showSeen) {
  await loadStyle("meter");
  byId("extras", HTMLElement).append(root);
  byId("composer", HTMLFormElement).after(words);
  const { close } = createPanel(root, button, panel, () => void open(leave));
  const leave = () => {
    close(true);
    showSeen();
  };
  watch(["chat", "sessions", "models"], () => void refreshWindow());
  watch(["chat", "live", "window"], draw);
  field.addEventListener("input", draw);
}
