/** The models that can answer, which one is chosen, and the embedded model's installation. */

/** @import { ModelItem, Route } from "./types.js" */

import * as api from "./api.js";
import { keepChoice } from "./choice.js";
import { currentSession, set, state } from "./state.js";
import { tellTabs } from "./tabs.js";

const POLL_MS = 500;

let polling = 0;

/** @param {unknown} error */
function report(error) {
  if (!(error instanceof api.ApiError)) throw error;
  set({ alert: error.message });
}

/** @param {boolean} [fresh]  have the server ask the endpoints again, too */
export async function refreshModels(fresh = false) {
  try {
    const answer = await api.models(fresh);
    const { mode = "chat", ...defaultRoute } = answer.default;
    set({ models: answer.items, defaultRoute, defaultMode: mode, modelsKnown: true });
  } catch (error) {
    report(error);
  }
}

/** The choice kept for new chats, as long as its endpoint is there or nothing is known yet. */
function choice() {
  const { choice, models, modelsKnown } = state;
  return !modelsKnown || models.some((item) => item.endpoint_id === choice?.endpoint_id) ? choice : null;
}

/**
 * The route the open chat's next message takes, or null before anything is known.
 *
 * @returns {Route | null}
 */
export function currentRoute() {
  const session = currentSession();
  if (session?.endpoint_id) return { endpoint_id: session.endpoint_id, model: session.model };
  const route = choice() ?? state.defaultRoute;
  return route.endpoint_id ? route : null;
}

/**
 * The endpoint of the open chat's route.
 *
 * @returns {ModelItem | null}
 */
export function currentEndpoint() {
  const route = currentRoute();
  return state.models.find((item) => item.endpoint_id === route?.endpoint_id) ?? null;
}

/**
 * Whether the chosen model is the embedded one and is not there. Asks the server only when it seems so.
 *
 * @returns {Promise<boolean>}
 */
export async function isModelMissing() {
  const missing = () => currentEndpoint()?.state === "missing";
  if (missing()) await refreshModels();
  return missing();
}

/**
 * Choose the model for the open chat.
 *
 * @param {Route} route
 */
export async function chooseModel(route) {
  const session = currentSession();
  set({ choice: route });
  keepChoice(route);
  if (!session) return;
  try {
    const changed = await api.patchSession(session.id, route);
    set({ sessions: state.sessions.map((known) => (known.id === changed.id ? { ...known, ...route } : known)) });
    tellTabs({ kind: "sessions" });
  } catch (error) {
    report(error);
  }
}

/** Start fetching the embedded model and watch it. */
export async function install() {
  set({ alert: "" });
  try {
    await api.startInstall();
    tellTabs({ kind: "models" });
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    // 409: it is being installed already, from another tab; that one is watched.
    if (error.status !== 409) return set({ install: { state: "failed", message: error.message } });
  }
  await watchInstall();
}

export async function cancelInstall() {
  try {
    await api.cancelInstall();
  } catch (error) {
    report(error);
  }
  await watchInstall();
}

/** When the chosen model is missing, join its installation, if it was begun elsewhere. */
export async function joinInstall() {
  if (currentEndpoint()?.state !== "missing" || state.install.state === "running") return;
  await watchInstall();
  if (state.install.state === "done") await refreshModels();
}

/** Read the installation's progress, again and again while it runs. */
export async function watchInstall() {
  clearTimeout(polling);
  const before = state.install.state;
  try {
    set({ install: await api.installState() });
  } catch (error) {
    report(error);
  }
  if (state.install.state === "running") polling = setTimeout(watchInstall, POLL_MS);
  else if (before === "running") {
    await refreshModels();
    tellTabs({ kind: "models" });
  }
}

/**
 * Add an endpoint and, when it answers with models, choose its first for the open chat. Throws ApiError.
 *
 * @param {{ label?: string, base_url: string, api_key?: string }} fields
 * @returns {Promise<{ text: string, works: boolean }>} the result, in words
 */
export async function addEndpoint(fields) {
  const endpoint = await api.addEndpoint(fields);
  await refreshModels();
  tellTabs({ kind: "models" });
  const item = state.models.find((known) => known.endpoint_id === endpoint.id);
  const first = item?.models[0];
  if (!first) return { text: `${endpoint.label} was added, but: ${item?.note || "it names no models."}`, works: false };
  await chooseModel({ endpoint_id: endpoint.id, model: first.id });
  const count = item.models.length === 1 ? "one model" : `${item.models.length} models`;
  return { text: `${endpoint.label} was added with ${count}.`, works: true };
}

/**
 * Remove an endpoint that was added here. Throws ApiError.
 *
 * @param {string} id
 */
export async function removeEndpoint(id) {
  await api.removeEndpoint(id);
  if (state.choice?.endpoint_id === id) {
    set({ choice: null });
    keepChoice(null);
  }
  await refreshModels();
  tellTabs({ kind: "models" });
}
