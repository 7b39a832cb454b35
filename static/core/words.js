/** States, sizes and dates as words. Pure. */

/** @import { Failure, Fallback, Terminal } from "./types.js" */

const TIMEOUTS = {
  wall_clock_timeout: "Ended: the answer took longer than the time limit.",
  idle_timeout: "Ended: the model sent nothing for too long.",
};

const STOPS = {
  user_stop: "Stopped",
  replaced: "Stopped: a newer message took its place.",
  client_disconnected: "Stopped: the connection was closed.",
};

/**
 * @param {Record<string, string>} table
 * @param {string | null | undefined} key
 * @param {string} otherwise
 */
const pick = (table, key, otherwise) => (key && table[key]) || otherwise;

/**
 * How a run ended, in words; empty when it simply finished. `tone` says whether it is a fault.
 *
 * @param {Terminal | null} record
 * @param {Failure | null} [error]
 * @returns {{ text: string, tone: "quiet" | "bad" }}
 */
export function outcome(record, error = null) {
  const failure = record?.failure ?? error;
  switch (record?.status) {
    case "stopped":
      return { text: pick(STOPS, record.stop_reason, "Stopped"), tone: "quiet" };
    case "timeout":
      return { text: pick(TIMEOUTS, record.stop_reason, "Ended by a time limit."), tone: "bad" };
    case "interrupted":
      return { text: interrupted(record), tone: "bad" };
    case "failed":
      return { text: failure?.message || "The answer failed.", tone: "bad" };
    default:
      if (failure) return { text: failure.message, tone: "bad" };
      if (record?.stopped) return { text: "Stopped", tone: "quiet" };
      return { text: record?.note ?? "", tone: "quiet" };
  }
}

/**
 * Whether a run ended before it had said all, so that it may be worth asking again.
 *
 * @param {Terminal | null} record
 * @param {Failure | null} [error]
 */
export function endedEarly(record, error = null) {
  if (record?.status) return record.status !== "completed";
  return Boolean(record?.failure ?? error ?? record?.stopped);
}

/**
 * Who answered in place of whom, and why; empty when nobody had to.
 *
 * @param {Fallback | null | undefined} fallback
 */
export const standIn = (fallback) =>
  fallback ? `${fallback.selected_model} could not answer (${fallback.reason}). ${fallback.answered_by} answered instead.` : "";

/** @param {Terminal} record */
function interrupted(record) {
  const cause = record.stop_reason === "server_shutdown" ? "the server was shut down" : "the server was restarted";
  return `Interrupted: ${cause}. What had arrived is kept.`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** @param {number} value */
export const count = (value) => value.toLocaleString("en");

/** @param {number} size */
export function bytes(size) {
  if (!(size >= 1000)) return `${size || 0} B`;
  return size < 1e6 ? `${Math.round(size / 1000)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

/** @param {number} bytes */
export const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

const DAY_MS = 86_400_000;

/**
 * The heading a session is listed under.
 *
 * @param {number | string} when  seconds since 1970, or a date as text
 * @param {Date} now
 */
export function dayGroup(when, now) {
  const then = new Date(typeof when === "number" ? when * 1000 : when);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - then.getTime()) / DAY_MS);
  if (!(days > 0)) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  return then.toLocaleDateString("en", { month: "long", year: "numeric" });
}
