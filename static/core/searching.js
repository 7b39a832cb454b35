/** The search over everything: what the server is asked, and what it says. */

/** @import { SearchHit } from "./types.js" */

import { call } from "./api.js";

/**
 * @typedef {{ id: string, name: string }} FoundChat
 * @typedef {{ id: string, title: string, snippet: string }} FoundDocument
 * @typedef {{ id: string, snippet: string, state: "kept" | "proposed" }} FoundMemory
 * @typedef {{ source_id: string, source: string, path: string, heading: string, page: number | null, snippet: string }} FoundFile
 *
 * @typedef {object} Found  The first hits of each group; `more` tells that there are others.
 * @property {{ items: FoundChat[], more: boolean }} chats
 * @property {{ items: SearchHit[], more: boolean }} messages
 * @property {{ items: FoundDocument[], more: boolean }} documents
 * @property {{ items: FoundMemory[], more: boolean }} memories
 * @property {{ items: FoundFile[], more: boolean }} library
 */

/** A few hits of every group, or all of one. @type {(query: string, signal: AbortSignal, group?: keyof Found) => Promise<Found>} */
export const searchAll = (query, signal, group) =>
  call("GET", `/api/search/all?q=${encodeURIComponent(query)}${group ? `&group=${group}` : ""}`, undefined, signal);
