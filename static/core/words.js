/** Figures and states as words. Pure. */

/** @import { Failure, Fallback, Metrics, Terminal } from "./types.js" */

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

/** Fewer tokens than this come in one piece, and their speed says nothing. */
const SPEED_FROM = 16;

/**
 * Tokens, time and speed of an answer, as far as known: `312 tokens · 4.1 s · 76 tokens/s`.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
export function figures(metrics, record) {
  // The record comes first: a reload has nothing else, and must say the same.
  const usage = { ...metrics, ...record?.usage };
  const seconds = record?.timing?.total_time ?? metrics?.total_time;
  const approx = usage.usage_source === "estimated" ? "about " : "";
  const parts = [
    usage.output_tokens ? `${approx}${count(usage.output_tokens)} tokens` : "",
    seconds ? duration(seconds) : "",
    usage.tokens_per_second && (usage.output_tokens ?? 0) >= SPEED_FROM ? `${Math.round(usage.tokens_per_second)} tokens/s` : "",
    usage.cost ? `$${usage.cost < 0.01 ? usage.cost.toFixed(4) : usage.cost.toFixed(2)}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/**
 * All that is known of what an answer used: `1,204 tokens in, 1,000 of them cached · 34 out · …`.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
export function allFigures(metrics, record) {
  const usage = { ...metrics, ...record?.usage };
  const first = record?.timing?.time_to_first_token ?? metrics?.time_to_first_token;
  const cached = usage.cached_input_tokens ? `, ${count(usage.cached_input_tokens)} of them cached` : "";
  const thought = usage.reasoning_tokens ? `, ${count(usage.reasoning_tokens)} of them reasoning` : "";
  const parts = [
    usage.input_tokens ? `${count(usage.input_tokens)} tokens in${cached}` : "",
    usage.output_tokens ? `${count(usage.output_tokens)} out${thought}` : "",
    usage.usage_source && usage.usage_source !== "real" ? "partly estimated" : "",
    first ? `first words after ${duration(first)}` : "",
    usage.tokens_per_second ? `${Math.round(usage.tokens_per_second)} tokens a second` : "",
    usage.cost ? `$${usage.cost.toFixed(6)}` : "",
    usage.context_percent ? `${usage.context_percent}% of the model's window` : "",
  ];
  return parts.filter(Boolean).join(" · ");
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
