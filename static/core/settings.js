/** The calls behind the settings: tools, agents, memories, the library, the server's health. Loaded with the settings. */

/** @import { AgentInfo, Endpoint, FoundServer, Health, LibraryEntry, LibraryList, Memory, Passage, Policy, ToolInfo, ToolServer } from "./types.js" */

import { call } from "./api.js";

/** @type {(id: string) => string} */
const part = encodeURIComponent;

/** @type {(fields: { base_url: string, api_key?: string }) => Promise<FoundServer>} */
export const testEndpoint = (fields) => call("POST", "/api/endpoints/test", fields);

/** @type {(id: string, changes: { base_url?: string, api_key?: string, label?: string }) => Promise<Endpoint>} */
export const changeEndpoint = (id, changes) => call("PATCH", `/api/endpoints/${part(id)}`, changes);

/** @type {() => Promise<{ tools: ToolInfo[], servers: ToolServer[] }>} */
export const tools = () => call("GET", "/api/tools");

/** @type {(name: string, policy: Policy | "default") => Promise<ToolInfo>} */
export const changeTool = (name, policy) => call("PATCH", `/api/tools/${part(name)}`, { policy });

/** @type {() => Promise<AgentInfo[]>} */
export const agents = () => call("GET", "/api/agents");

/** @type {(query: string, signal?: AbortSignal) => Promise<Memory[]>} */
export const memories = (query, signal) => call("GET", `/api/memories${query && `?q=${part(query)}`}`, undefined, signal);

/** @type {(fields: { text: string, pinned: boolean }) => Promise<Memory>} */
export const addMemory = (fields) => call("POST", "/api/memories", fields);

/** @type {(id: string, changes: Partial<Memory>) => Promise<Memory>} */
export const changeMemory = (id, changes) => call("PATCH", `/api/memories/${part(id)}`, changes);

/** @type {(id: string) => Promise<unknown>} */
export const deleteMemory = (id) => call("DELETE", `/api/memories/${part(id)}`);

/** @type {() => Promise<LibraryList>} */
export const library = () => call("GET", "/api/library");

/** @type {(source: { path: string } | { upload_id: string }) => Promise<LibraryEntry>} */
export const addSource = (source) => call("POST", "/api/library", source);

/** @type {(id: string) => Promise<LibraryEntry>} */
export const refreshSource = (id) => call("POST", `/api/library/${part(id)}/refresh`, {});

/** @type {(id: string) => Promise<unknown>} */
export const removeSource = (id) => call("DELETE", `/api/library/${part(id)}`);

/** @type {(query: string) => Promise<{ items: Passage[], mode: string, note: string }>} */
export const searchLibrary = (query) => call("GET", `/api/library/search?q=${part(query)}`);

/** @type {() => Promise<Health>} */
export const health = () => call("GET", "/api/health");
