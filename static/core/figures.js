/** What an answer used, in figures: tokens, time, money. What is not known is left out, and estimates say so. Pure. */

/** @import { Metrics, Terminal } from "./types.js" */

import { count, duration } from "./words.js";

/** Fewer tokens than this come in one piece, and their speed says nothing. */
const SPEED_FROM = 16;

/** @param {unknown} value */
const positive = (value) => (typeof value === "number" && value > 0 && Number.isFinite(value) ? value : 0);

/**
 * Each figure as a positive number, or 0 when it is not known. The record comes first: a reload has nothing else, and
 * must say the same.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
function known(metrics, record) {
  const usage = { ...metrics, ...record?.usage };
  const output = positive(usage.output_tokens);
  return {
    about: usage.usage_source && usage.usage_source !== "real" ? "about " : "",
    input: positive(usage.input_tokens),
    output,
    cached: positive(usage.cached_input_tokens),
    thought: positive(usage.reasoning_tokens),
    speed: output < SPEED_FROM ? 0 : positive(usage.tokens_per_second),
    cost: positive(usage.cost),
    share: positive(usage.context_percent),
    seconds: positive(record?.timing?.total_time ?? metrics?.total_time),
    first: positive(record?.timing?.time_to_first_token ?? metrics?.time_to_first_token),
    requests: positive(record?.rounds),
    calls: positive(record?.tool_calls),
  };
}

/** @param {(string | false | 0)[]} parts */
const line = (parts) => parts.filter(Boolean).join(" · ");

/** @param {number} cost */
const dollars = (cost) => `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`;

/** @param {number} speed */
const pace = (speed) => (speed < 10 ? speed.toFixed(1) : count(Math.round(speed)));

/** A time that was short is not told as none. @param {number} seconds */
const time = (seconds) => (seconds < 0.1 ? "under 0.1 s" : duration(seconds));

/** How long the first words took. @param {number} first */
const wait = (first) => (first < 0.1 ? "first words within 0.1 s" : `first words after ${duration(first)}`);

/**
 * In short, for an answer that others follow: `34 tokens · 4.1 s`.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
export function shortFigures(metrics, record) {
  const { about, output, seconds, cost } = known(metrics, record);
  return line([output && `${about}${count(output)} tokens`, seconds && time(seconds), cost && `${about}${dollars(cost)}`]);
}

/**
 * The main ones, for the newest answer: `1,204 tokens in, 1,000 cached · 34 out · 76 tokens/s · first words after 0.4 s`.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
export function mainFigures(metrics, record) {
  const { about, input, output, cached, speed, first, cost } = known(metrics, record);
  const read = input && `${about}${count(input)} tokens in${cached ? `, ${count(cached)} cached` : ""}`;
  const said = output && `${about}${count(output)} ${input ? "out" : "tokens out"}`;
  return line([read, said, speed && `${about}${pace(speed)} tokens/s`, first && wait(first), cost && `${about}${dollars(cost)}`]);
}

/**
 * All that is known: those of reasoning and of an agent's requests too.
 *
 * @param {Metrics | null} metrics
 * @param {Terminal | null} record
 */
export function allFigures(metrics, record) {
  const { about, input, output, cached, thought, speed, first, seconds, cost, share, requests, calls } = known(metrics, record);
  return line([
    input && `${about}${count(input)} tokens in${cached ? `, ${count(cached)} of them cached` : ""}`,
    output && `${about}${count(output)} out${thought ? `, ${count(thought)} of them reasoning` : ""}`,
    first && wait(first),
    speed && `${about}${pace(speed)} tokens a second`,
    seconds && `${time(seconds)} in all`,
    requests > 1 && `${count(requests)} requests to the model`,
    calls && `${count(calls)} ${calls === 1 ? "call of a tool" : "calls of tools"}`,
    cost && `${about}$${cost.toFixed(6)}`,
    share && `${about}${share} % of the model's window`,
  ]);
}
