/** Every call to the server, as plain functions. A refusal is an ApiError whose message can be shown as it is. */

/** @import { Endpoint, FoundServer, HistoryPage, Install, Mode, ModelItem, Route, SearchHit, SeenContext, Session, StreamStatus, Upload } from "./types.js" */

/** A call that did not succeed. `status` is the HTTP status, or 0 when the server was not reached. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {unknown} [body]  the whole of what the server said
   */
  constructor(message, status, body = null) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export const UNREACHABLE = "The server cannot be reached. Is it still running?";

/** @type {() => void} */
let onUnreachable = () => undefined;

/** Have `listener` called after each call that did not reach the server. @param {() => void} listener */
export const hearUnreachable = (listener) => void (onUnreachable = listener);

/** How long a call waits for its answer to begin. A socket that died in a sleep would wait for ever. */
const PATIENCE_MS = 30_000;
const IMPORT_PATIENCE_MS = 120_000;
const RESUME_PATIENCE_MS = 10_000;

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {number} [patience]
 * @returns {Promise<Response>} a response with a 2xx status
 */
async function request(path, init = {}, patience = PATIENCE_MS) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), patience);
  const signal = init.signal ? AbortSignal.any([init.signal, limit.signal]) : limit.signal;
  try {
    const response = await fetch(path, { credentials: "same-origin", ...init, signal });
    if (!response.ok) throw await problem(response);
    return response;
  } catch (error) {
    if (error instanceof ApiError || init.signal?.aborted) throw error;
    onUnreachable();
    throw new ApiError(UNREACHABLE, 0);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function problem(response) {
  const body = await response.json().catch(() => null); // a proxy's own error page is not JSON
  const told = typeof body?.error === "string" && body.error ? body.error : `The server answered with error ${response.status}.`;
  return new ApiError(told, response.status, body);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @param {number} [patience]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, signal, patience) {
  const init = /** @type {RequestInit} */ ({ method, signal });
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const response = await request(path, init, patience);
  return response.json().catch(() => {
    throw new ApiError(UNREACHABLE, 0);
  });
}

/** @param {string} id */
const session = (id) => `/api/session/${encodeURIComponent(id)}`;

/** @type {(query?: string, signal?: AbortSignal, archived?: boolean) => Promise<Session[]>} */
export const listSessions = (query = "", signal, archived = false) =>
  call("GET", `/api/sessions?q=${encodeURIComponent(query)}${archived ? "&archived=1" : ""}`, undefined, signal);

/** @type {(fields: Partial<Session>) => Promise<Session>} */
export const createSession = (fields) => call("POST", "/api/session", fields);

/** @type {(id: string, changes: Partial<Session>) => Promise<Session>} */
export const patchSession = (id, changes) => call("PATCH", session(id), changes);

/** @type {(id: string) => Promise<unknown>} */
export const deleteSession = (id) => call("DELETE", session(id));

/**
 * @param {string} id
 * @param {string} format  html, md or json
 */
export const exportAddress = (id, format) => `${session(id)}/export?fmt=${format}`;

/** @type {(file: Blob) => Promise<Session>} */
export const importChat = async (file) =>
  (await request("/api/sessions/import", { method: "POST", body: file, headers: { "Content-Type": "application/json" } }, IMPORT_PATIENCE_MS)).json();

/** @type {(id: string, limit: number, before?: string | null) => Promise<HistoryPage>} */
export const history = (id, limit, before = null) =>
  call("GET", `/api/history/${encodeURIComponent(id)}?limit=${limit}${before ? "&before=" + encodeURIComponent(before) : ""}`);

/** @type {(id: string) => Promise<SeenContext>} */
export const context = (id) => call("GET", `${session(id)}/context`);

/** The same as estimates, without the messages. @type {(id: string) => Promise<SeenContext>} */
export const contextFigures = (id) => call("GET", `${session(id)}/context?brief=1`);

/** Show the branch through this message. @type {(id: string, message: string) => Promise<unknown>} */
export const showBranch = (id, message) => call("POST", `${session(id)}/branch`, { message_id: message });

/** Copy the session down to this message. @type {(id: string, message: string) => Promise<Session>} */
export const fork = (id, message) => call("POST", `${session(id)}/fork`, { message_id: message });

/** @type {(id: string, messages: string[]) => Promise<unknown>} */
export const deleteMessages = (id, messages) => call("POST", `${session(id)}/delete-messages`, { msg_ids: messages });

/** In all sessions the newest first; in one, in its order. @type {(query: string, signal?: AbortSignal, session?: string) => Promise<SearchHit[]>} */
export const search = (query, signal, session = "") =>
  call("GET", `/api/search?q=${encodeURIComponent(query)}${session && "&session=" + encodeURIComponent(session)}`, undefined, signal);

/** @type {(fresh: boolean) => Promise<{ items: ModelItem[], default: Route & { mode?: Mode } }>} */
export const models = (fresh) => call("GET", `/api/models${fresh ? "?refresh=1" : ""}`);

/** @type {() => Promise<Install>} */
export const installState = () => call("GET", "/api/models/install");

/** @type {() => Promise<unknown>} */
export const startInstall = () => call("POST", "/api/models/install", {});

/** @type {() => Promise<unknown>} */
export const cancelInstall = () => call("DELETE", "/api/models/install");

/** @type {() => Promise<Endpoint[]>} */
export const endpoints = () => call("GET", "/api/endpoints");

/** @type {() => Promise<FoundServer[]>} */
export const foundServers = () => call("GET", "/api/endpoints/found");

/** @type {(fields: { label?: string, base_url: string, api_key?: string }) => Promise<Endpoint>} */
export const addEndpoint = (fields) => call("POST", "/api/endpoints", fields);

/** @type {(id: string) => Promise<unknown>} */
export const removeEndpoint = (id) => call("DELETE", `/api/endpoints/${encodeURIComponent(id)}`);

/**
 * The run of a session that is in the server's memory, or null when there is none.
 *
 * @param {string} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<StreamStatus | null>}
 */
export async function streamStatus(id, signal) {
  try {
    return await call("GET", `/api/chat/stream_status/${encodeURIComponent(id)}`, undefined, signal, RESUME_PATIENCE_MS);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * Send a file, telling how much of it is sent, 0 to 1. The answer comes when the file was read.
 *
 * @type {(file: File, onSent: (part: number) => void, signal: AbortSignal) => Promise<{ files: Upload[] }>}
 */
export const upload = (file, onSent, signal) =>
  new Promise((resolve, reject) => {
    const form = new FormData();
    form.append("files", file);
    const sender = new XMLHttpRequest(); // fetch does not tell how far a body is
    sender.upload.addEventListener("progress", ({ loaded, total }) => onSent(total ? loaded / total : 0));
    sender.addEventListener("error", () => reject(new ApiError("The server cannot be reached, or did not take the whole file.", 0)));
    sender.addEventListener("abort", () => reject(signal.reason));
    sender.addEventListener("load", () => {
      const { response, status } = sender;
      if (status < 300 && response) resolve(response);
      else reject(new ApiError(response?.error || `The server answered with error ${status}.`, status));
    });
    signal.addEventListener("abort", () => sender.abort());
    sender.responseType = "json";
    sender.open("POST", "/api/upload");
    sender.send(form);
  });

/** Whether the server still has a file; when it cannot tell, it is taken to have. @param {string} id */
export async function isKept(id) {
  try {
    await request(`/api/upload/${encodeURIComponent(id)}`, { method: "HEAD" });
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.status !== 404;
  }
}

/** A file from this size on is compared with the server's limit before it is sent: a refusal in the middle is not heard. */
const LARGE = 1_000_000;

/** Throws ApiError for a file that the server will not take. @param {File} file */
export async function checkSize({ size }) {
  if (size < LARGE) return;
  const { max_file_bytes: most } = await call("GET", "/api/health");
  if (size > most) throw new ApiError(`A file is larger than the limit of ${most.toLocaleString("en")} bytes. Send a part of it.`, 413);
}

/** @typedef {import("./compare.js").Comparison} Comparison */

/** @param {string} [id] @param {string} [deed] */
const comparing = (id = "", deed = "") => ["/api/compare", id && encodeURIComponent(id), deed].filter(Boolean).join("/");

/** @type {() => Promise<Comparison[]>} */
export const comparisons = () => call("GET", comparing());

/** @type {(id: string) => Promise<Comparison>} */
export const comparison = (id) => call("GET", comparing(id));

/** @type {(fields: { panes: Route[], blind: boolean, question: string }) => Promise<Comparison>} */
export const createComparison = (fields) => call("POST", comparing(), fields);

/** @type {(id: string) => Promise<unknown>} */
export const deleteComparison = (id) => call("DELETE", comparing(id));

/** @type {(id: string, choice: string) => Promise<Comparison>} */
export const vote = (id, choice) => call("POST", comparing(id, "vote"), { vote: choice });

/** @type {(id: string, pane: string) => Promise<Session>} */
export const keepPane = (id, pane) => call("POST", comparing(id, "keep"), { pane });

/** @type {(id: string, pane: string, closed: boolean) => Promise<Comparison>} */
export const closePane = (id, pane, closed) => call("POST", comparing(id, "close"), { pane, closed });

/** @type {() => Promise<import("./compare.js").Score[]>} */
export const scores = () => call("GET", comparing("scores"));

/** Put the files back as they were before this run. @type {(run: string) => Promise<{ files?: string[] }>} */
export const undo = (run) => call("POST", `/api/runs/${encodeURIComponent(run)}/undo`, {});

/**
 * Send a message or a decision. Resolves when the server has accepted it; the body is the run's stream.
 *
 * @param {string} id
 * @param {Record<string, string | boolean | string[] | undefined>} fields
 * @param {AbortSignal} [signal]  ends the connection, and of a compared answer the model with it
 */
export function send(id, fields, signal) {
  const body = { session: id, ...fields };
  return request("/api/chat_stream?dialect=page", {
    method: "POST",
    signal,
    body: JSON.stringify(body),
    headers: {
      "Content-Type": "application/json",
      Accept: "text/event-stream",
      "X-Tz-Offset": String(-new Date().getTimezoneOffset()),
      "X-Tz-Name": Intl.DateTimeFormat().resolvedOptions().timeZone ?? "",
    },
  });
}

/**
 * The run's stream behind frame `after`.
 *
 * @param {string} id
 * @param {number} after
 * @param {AbortSignal} signal
 */
export function resume(id, after, signal) {
  const path = `/api/chat/resume/${encodeURIComponent(id)}?dialect=page&after=${after}`;
  return request(path, { headers: { Accept: "text/event-stream" }, signal }, RESUME_PATIENCE_MS);
}

/** @param {Response} response */
export const runIdOf = (response) => response.headers.get("X-Odysseus-Run-Id") ?? "";

/**
 * Ask to stop this very run.
 *
 * @param {string} id
 * @param {string} runId
 * @returns {Promise<{ stopped: boolean }>}
 */
export async function stop(id, runId) {
  const response = await request(`/api/chat/stop/${encodeURIComponent(id)}`, {
    method: "POST",
    headers: { "X-Odysseus-Run-Id": runId },
    priority: "high",
  });
  return response.json();
}
