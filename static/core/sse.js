/** An event stream's text into its events: bytes are kept until a blank line, then the gathered data is one event. */

/** @import { StreamEvent } from "./types.js" */

export class EventParser {
  #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #id = "";
  /** @type {string[]} */
  #data = [];

  /**
   * Take the next bytes; return the events they complete. Comments and unfinished events return nothing.
   *
   * @param {Uint8Array} bytes
   * @returns {StreamEvent[]}
   */
  push(bytes) {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CRLF: it waits for the next bytes.
    const usable = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, usable).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + text.slice(usable);
    return lines.map((line) => this.#line(line)).filter((event) => event !== null);
  }

  /**
   * @param {string} line
   * @returns {StreamEvent | null}
   */
  #line(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return null;
  }

  #dispatch() {
    const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
    const complete = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    return complete ? event : null;
  }
}
