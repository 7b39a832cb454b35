/** The model picker: a button with the chosen model, and a panel with every endpoint's models and its state. */

/** @import { ModelItem } from "../core/types.js" */

import { byId, h, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { chooseModel, currentEndpoint, currentRoute, refreshModels } from "../core/models.js";
import { createPanel } from "../core/panel.js";
import { state, watch } from "../core/state.js";

const STATES = {
  ready: "Ready",
  missing: "Not installed",
  loading: "Loading",
  idle: "Loads when used",
  failed: "Failed",
  unreachable: "Not reachable",
};

const FILTER_FROM = 8;

const root = byId("picker", HTMLElement);
const button = byId("picker-button", HTMLButtonElement);
const name = byId("picker-name", HTMLElement);
const dot = byId("picker-dot", HTMLElement);
const panel = byId("picker-panel", HTMLElement);
const filter = byId("picker-filter", HTMLInputElement);
const list = byId("picker-list", HTMLElement);
const opening = createPanel(root, button, panel, fill);

function drawButton() {
  const route = currentRoute();
  const item = currentEndpoint();
  const model = route?.model || item?.models[0]?.id || item?.endpoint_label || "";
  setText(name, model || (state.modelsKnown ? "Choose a model" : "…"));
  dot.dataset.state = item?.state ?? "";
  button.title = item ? `${item.endpoint_label} · ${STATES[item.state] ?? item.state}` : "";
  if (!panel.hidden) drawList();
}

function drawList() {
  const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute("data-route") : null;
  const words = filter.value.trim().toLowerCase().split(/\s+/);
  const matches = (/** @type {string} */ text) => words.every((word) => text.toLowerCase().includes(word));
  list.replaceChildren(...state.models.map((item) => group(item, matches)).filter((node) => node !== null));
  if (!list.childElementCount) list.append(h("p", { class: "empty" }, state.models.length ? "No model matches." : state.modelsKnown ? "There is no endpoint yet." : "Looking for models…"));
  if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`[data-route="${CSS.escape(focused)}"]`))?.focus();
}

/**
 * @param {ModelItem} item
 * @param {(text: string) => boolean} matches
 */
function group(item, matches) {
  const models = item.models.filter((model) => matches(`${item.endpoint_label} ${model.id}`));
  if (!models.length && (filter.value.trim() || !item.endpoint_label)) return null;
  const note = item.note || (item.models.length ? "" : "No models.");
  return h(
    "section",
    { "aria-label": item.endpoint_label },
    h(
      "header",
      {},
      h("span", { class: "dot", "data-state": item.state, "aria-hidden": "true" }),
      h("strong", {}, item.endpoint_label),
      h("span", { class: "quiet" }, STATES[item.state] ?? item.state),
    ),
    note && h("p", { class: "quiet note" }, note),
    ...models.map((model) => option(item, model.id)),
  );
}

/**
 * @param {ModelItem} item
 * @param {string} model
 */
function option(item, model) {
  const route = currentRoute();
  const chosen = route?.endpoint_id === item.endpoint_id && (route.model || item.models[0]?.id) === model;
  const choose = () => {
    void chooseModel({ endpoint_id: item.endpoint_id, model });
    opening.close(true);
  };
  const props = { type: "button", class: "option", "aria-pressed": String(chosen), "data-route": `${item.endpoint_id} ${model}` };
  return h("button", { ...props, onclick: choose }, h("span", {}, model), icon("check"));
}

function fill() {
  filter.value = "";
  const many = state.models.reduce((sum, item) => sum + item.models.length, 0) >= FILTER_FROM;
  filter.hidden = !many;
  drawList();
  const chosen = list.querySelector("[aria-pressed=true]");
  chosen?.scrollIntoView({ block: "nearest" });
  if (many) filter.focus();
  else if (chosen instanceof HTMLElement) chosen.focus();
  void refreshModels(true);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (panel.hidden || !step) return;
  event.preventDefault();
  const options = [...panel.querySelectorAll("button.option")];
  const next = options[options.indexOf(/** @type {Element} */ (document.activeElement)) + step] ?? options[step > 0 ? 0 : options.length - 1];
  if (next instanceof HTMLElement) next.focus();
}

/** Show the models, as the button does. */
export const openPicker = () => opening.open();

/** @param {() => void} openEndpoints */
export function startPicker(openEndpoints) {
  watch(["models", "chat", "sessions", "choice"], drawButton);
  filter.addEventListener("input", drawList);
  document.addEventListener("keydown", onKey, true);
  byId("picker-add", HTMLButtonElement).addEventListener("click", () => {
    opening.close(true); // the dialog gives the focus back to what had it before
    openEndpoints();
  });
}
