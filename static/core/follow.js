/**
 * Keeps a live answer connected: reads its stream, lets go while the tab is hidden, and comes back with its cursor after
 * a break. It only ever reads; no message is sent from here.
 */

/** @import { Link, Live } from "./types.js" */
/** @import { Slot } from "./slots.js" */

import { applyEvent, rewind } from "./answer.js";
import * as api from "./api.js";
import { takeSlot } from "./slots.js";
import { readStream } from "./stream.js";

const BACKOFF_MS = [500, 1000, 2000, 4000, 8000];

/** @typedef {"ended" | "gone" | "lost" | "detached"} Outcome */
/** @typedef {{ onChange: () => void, onEnd: () => void, onGone: () => void }} Hooks */

export class Follower {
  #live;
  #hooks;
  #closed = false;
  #paused = false;
  #steal = true;
  #failures = 0;
  #abort = new AbortController();
  /** @type {() => void} */
  #wake = () => undefined;

  /**
   * `onChange` is called after frames or a change of the link, `onEnd` after the last frame, `onGone` when the server no
   * longer has the run and only its history can tell how it ended.
   *
   * @param {Live} live
   * @param {Hooks} hooks
   */
  constructor(live, hooks) {
    this.#live = live;
    this.#hooks = hooks;
  }

  /**
   * Follow the run to its end. `response` is a stream that is open already.
   *
   * @param {Response | null} [response]
   */
  async start(response = null) {
    while (!this.#closed && !this.#live.ended) {
      const outcome = await this.#attempt(response);
      response = null;
      if (this.#closed) return;
      if (outcome === "gone") return this.#hooks.onGone();
      if (outcome === "lost") await this.#backOff();
      if (outcome === "detached") await this.#untilWanted();
    }
    if (!this.#closed) this.#hooks.onEnd();
  }

  /** Let the connection go; the run goes on at the server. */
  pause() {
    this.#paused = true;
    this.#abort.abort();
  }

  /** Be connected, now; another tab's slot may be taken. Does nothing to a healthy connection. */
  resume() {
    this.#paused = false;
    this.#steal = true;
    if (this.#live.link === "queued") this.#abort.abort();
    this.#wake();
  }

  /** Let go for good. */
  close() {
    this.#closed = true;
    this.#abort.abort();
    this.#wake();
  }

  /**
   * @param {Response | null} first
   * @returns {Promise<Outcome>}
   */
  async #attempt(first) {
    const abort = (this.#abort = new AbortController());
    if (this.#paused || this.#closed) abort.abort();
    const slot = await this.#slot(abort);
    try {
      const response = first ?? (slot && (await this.#reopen(abort.signal)));
      if (!slot && response) await response.body?.cancel();
      if (!slot) return "detached";
      return response ? await this.#read(response, abort.signal) : "gone";
    } catch (error) {
      if (abort.signal.aborted) return "detached";
      if (error instanceof api.ApiError || error instanceof TypeError) return "lost"; // TypeError: the transport broke
      throw error;
    } finally {
      slot?.release();
    }
  }

  /**
   * A slot, or null when it was not wanted any more. Losing it later lets the connection go.
   *
   * @param {AbortController} abort
   * @returns {Promise<Slot | null>}
   */
  async #slot(abort) {
    if (abort.signal.aborted) return null;
    try {
      if (!this.#steal) this.#say("queued");
      const slot = await takeSlot(this.#steal, abort.signal);
      void slot.lost.then(() => {
        this.#steal = false;
        abort.abort();
      });
      return slot;
    } catch (error) {
      if (abort.signal.aborted) return null;
      throw error;
    }
  }

  /**
   * @param {Response} response
   * @param {AbortSignal} signal
   * @returns {Promise<Outcome>}
   */
  async #read(response, signal) {
    this.#say("open");
    const ended = await readStream(response, signal, (events) => {
      this.#failures = 0;
      for (const event of events) applyEvent(this.#live, event);
      if (!this.#closed) this.#hooks.onChange();
    });
    if (ended) return "ended";
    return signal.aborted ? "detached" : "lost";
  }

  /**
   * Ask how the run stands, then take it up behind the cursor. Null when the server does not have it.
   *
   * @param {AbortSignal} signal
   * @returns {Promise<Response | null>}
   */
  async #reopen(signal) {
    const live = this.#live;
    const status = await api.streamStatus(live.session, signal);
    if (!status || (live.runId && status.run_id !== live.runId)) return null;
    live.runId = status.run_id;
    if (!live.cursor) live.seenBefore = status.frames ?? 0;
    try {
      return await api.resume(live.session, live.cursor, signal);
    } catch (error) {
      if (!(error instanceof api.ApiError)) throw error;
      if (error.status === 404) return null;
      if (error.status === 400) rewind(live); // the cursor is not of this run's log
      throw error;
    }
  }

  async #backOff() {
    const delay = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#say("lost");
    await new Promise((/** @type {(value?: undefined) => void} */ done) => {
      const timer = setTimeout(done, delay);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  async #untilWanted() {
    if (!this.#paused || this.#closed) return;
    this.#say("paused");
    await new Promise((/** @type {(value?: undefined) => void} */ done) => (this.#wake = done));
  }

  /** @param {Link} link */
  #say(link) {
    if (this.#live.link === link) return;
    this.#live.link = link;
    this.#hooks.onChange();
  }
}
