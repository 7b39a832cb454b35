/** Words in a text as the server's search compares them: without case and accents. Pure. */

/** What is asked of the server has to fit into an address. */
const LONGEST = 600;

const MARKS = /[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]/g;

/** What is looked for of all that was typed. @param {string} typed */
export const asked = (typed) => typed.slice(0, LONGEST).replace(/\p{Surrogate}/gu, "").trim();

/** One character; what has no case of its own, like ß, gets it on the way. @param {string} character */
const plainOne = (character) => character.normalize("NFKD").replace(MARKS, "").normalize("NFC").toUpperCase().toLowerCase();

/**
 * A text as it is compared, and the place in it that each of its characters comes from.
 *
 * @param {string} text
 * @returns {{ compared: string, from: (at: number) => number }}
 */
function compare(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return { compared: text.toLowerCase(), from: (at) => at };
  /** @type {number[]} */
  const places = [];
  let compared = "";
  let at = 0;
  for (const character of text) {
    const one = plainOne(character);
    for (let unit = 0; unit < one.length; unit += 1) places.push(at);
    compared += one;
    at += character.length;
  }
  return { compared, from: (place) => places[place] ?? text.length };
}

/**
 * Where words of the query stand in a text, in order and apart from each other.
 *
 * @param {string} text
 * @param {string} query
 * @returns {[start: number, end: number][]}
 */
export function placesOf(text, query) {
  const { compared, from } = compare(text);
  const words = new Set(compare(query).compared.split(/\s+/).filter(Boolean));
  /** @type {[number, number][]} */
  const found = [];
  for (const word of words) {
    for (let at = compared.indexOf(word); at >= 0; at = compared.indexOf(word, at + word.length)) {
      let behind = at + word.length;
      while (behind < compared.length && from(behind) === from(behind - 1)) behind += 1; // the character is marked whole
      found.push([from(at), from(behind)]);
    }
  }
  return joined(found.toSorted((a, b) => a[0] - b[0]));
}

/** @param {[number, number][]} places  in order @returns {[number, number][]} */
function joined(places) {
  /** @type {[number, number][]} */
  const whole = [];
  for (const [start, end] of places) {
    const last = whole.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else whole.push([start, end]);
  }
  return whole;
}
