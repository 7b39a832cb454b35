/** The dialog of endpoints: those there are, and adding one. */

/** @import { Endpoint, FoundServer } from "../core/types.js" */

import * as api from "../core/api.js";
import { byId, h, setText, smallButton as small } from "../core/dom.js";
import { addEndpoint, removeEndpoint } from "../core/models.js";

const dialog = byId("endpoints", HTMLDialogElement);
const form = byId("endpoint-form", HTMLFormElement);
const address = byId("endpoint-address", HTMLInputElement);
const key = byId("endpoint-key", HTMLInputElement);
const label = byId("endpoint-label", HTMLInputElement);
const submit = byId("endpoint-submit", HTMLButtonElement);
const result = byId("endpoint-result", HTMLElement);
const list = byId("endpoint-list", HTMLElement);
const found = byId("endpoint-found", HTMLElement);

/**
 * @param {string} text
 * @param {"good" | "bad" | ""} tone
 */
function say(text, tone) {
  setText(result, text);
  result.dataset.tone = tone;
}

/**
 * Do something at the server; a refusal is said in the dialog.
 *
 * @param {() => Promise<{ text: string, works: boolean }>} action
 * @returns {Promise<boolean>}
 */
async function attempt(action) {
  try {
    const { text, works } = await action();
    say(text, works ? "good" : "bad");
    return true;
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    say(error.message, "bad");
    return false;
  }
}

async function drawList() {
  try {
    list.replaceChildren(...(await api.endpoints()).map(row));
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    say(error.message, "bad");
  }
}

/** @param {Endpoint} endpoint */
function row(endpoint) {
  const where = endpoint.base_url || "In this program";
  const about = h("div", {}, h("strong", {}, endpoint.label), h("span", { class: "quiet" }, endpoint.has_key ? `${where} · with a key` : where));
  const actions = h("div", { class: "actions" });
  const offer = () => actions.replaceChildren(small("Remove", confirm));
  const confirm = () => {
    const keep = small("Keep", offer);
    actions.replaceChildren(small("Remove for good", () => void remove(endpoint), "danger"), keep);
    keep.focus();
  };
  if (endpoint.removable) offer();
  return h("li", {}, about, actions);
}

/** @param {Endpoint} endpoint */
async function remove(endpoint) {
  await attempt(async () => {
    await removeEndpoint(endpoint.id);
    return { text: `${endpoint.label} was removed.`, works: true };
  });
  await drawList();
}

/** Offer the local servers that answer now; when none does, or the server cannot tell, there is nothing to say. */
async function drawFound() {
  try {
    const servers = await api.foundServers();
    found.querySelector("ul")?.replaceChildren(...servers.map(offer));
    found.hidden = !servers.length;
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    found.hidden = true;
  }
}

/** @param {FoundServer} server */
function offer(server) {
  const many = server.models.length === 1 ? "1 model" : `${server.models.length} models`;
  const about = h("div", {}, h("strong", {}, server.label), h("span", { class: "quiet" }, `${server.base_url} · ${many}`));
  const addIt = async () => {
    await attempt(() => addEndpoint({ base_url: server.base_url, label: server.label }));
    await Promise.all([drawList(), drawFound()]);
  };
  return h("li", {}, about, h("div", { class: "actions" }, small("Add", () => void addIt())));
}

/** @param {SubmitEvent} event */
async function add(event) {
  event.preventDefault();
  if (submit.disabled) return;
  submit.disabled = true;
  say("Asking the endpoint for its models…", "");
  const fields = {
    base_url: address.value.trim(),
    ...(label.value.trim() && { label: label.value.trim() }),
    ...(key.value.trim() && { api_key: key.value.trim() }),
  };
  const added = await attempt(() => addEndpoint(fields));
  submit.disabled = false;
  if (!added) return;
  form.reset();
  await drawList();
}

export function openEndpoints() {
  say("", "");
  found.hidden = true;
  void drawList();
  void drawFound();
  dialog.showModal();
}

export function startEndpoints() {
  form.addEventListener("submit", (event) => void add(event));
  byId("endpoints-close", HTMLButtonElement).addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  dialog.addEventListener("close", () => {
    form.reset();
    // What opened it may be gone, when the new endpoint made it needless.
    if (document.activeElement === document.body) byId("message", HTMLTextAreaElement).focus();
  });
}
