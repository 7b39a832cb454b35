/** What to do when the chosen model cannot answer because it is not installed, or is being installed. */

import { byId, h } from "../core/dom.js";
import { cancelInstall, currentEndpoint, install } from "../core/models.js";
import { state, watch } from "../core/state.js";
import { megabytes } from "../core/words.js";

const STANDARD = "qwen2.5-coder-0.5b";

/** @type {Record<string, string>} */
const KNOWN = {
  "qwen2.5-coder-0.5b": "491 MB, Apache-2.0",
  "smollm2-135m": "98 MB, Apache-2.0",
};

const box = byId("missing", HTMLElement);

/**
 * @param {string} label
 * @param {() => void} onClick
 * @param {string} [kind]
 */
const button = (label, onClick, kind = "") => h("button", { type: "button", class: `button ${kind}`, onclick: onClick }, label);

/** The bar is kept while it moves, so that it is read out as one thing. */
const bar = h("progress", { "aria-label": "Fetching the embedded model", max: 1 });
const figure = h("span", { class: "figures" });
const cancel = button("Cancel", () => {
  cancel.disabled = true;
  cancel.textContent = "Cancelling…"; // a fetch that waits for its server takes a while to end
  void cancelInstall();
});
const running = h(
  "div",
  { class: "installing" },
  h("p", {}, "Fetching the embedded model. ", figure),
  h("div", { class: "actions" }, bar, cancel),
);

function drawRunning() {
  const { received, total, message } = state.install;
  if (received && total) bar.value = received / total;
  else bar.removeAttribute("value");
  figure.textContent = received && total ? `${megabytes(received)} of ${megabytes(total)}` : `${message || "Starting"}…`;
  if (running.parentElement === box) return;
  cancel.disabled = false;
  cancel.textContent = "Cancel";
  box.replaceChildren(running);
}

/** Size and licence of the model that would be installed, as far as the program names one it knows. */
function facts() {
  const route = state.defaultRoute;
  const configured = route.endpoint_id === currentEndpoint()?.endpoint_id ? route.model : "";
  const known = KNOWN[state.install.name || configured || STANDARD];
  return known ? ` (${known})` : "";
}

/** @param {() => void} openEndpoints */
function drawChoices(openEndpoints) {
  const failed = state.install.state === "failed";
  const text = failed
    ? `The embedded model could not be installed. ${state.install.message ?? ""}`
    : "The embedded model is not installed yet.";
  const first = button(failed ? "Try again" : `Install it${facts()}`, () => void install(), "primary");
  const actions = h("div", { class: "actions" }, first, button("Add an endpoint", openEndpoints));
  box.replaceChildren(h("p", {}, text), actions);
}

/** @param {() => void} openEndpoints */
export function startMissing(openEndpoints) {
  let drawn = "";
  watch(["models", "install", "chat", "sessions", "choice"], () => {
    const item = currentEndpoint();
    const missing = item?.kind === "local" && item.state === "missing";
    const busy = state.install.state === "running";
    box.hidden = !missing && !busy;
    box.dataset.failed = String(!busy && state.install.state === "failed");
    const wanted = box.hidden ? "" : busy ? "running" : `${state.install.state} ${state.install.message ?? ""}`;
    if (busy) drawRunning();
    else if (wanted && wanted !== drawn) drawChoices(openEndpoints);
    drawn = wanted;
  });
}
