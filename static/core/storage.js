/** What the browser keeps for the page. Storage that is full or forbidden only costs the keeping, and says so in the console. */

/** @typedef {"local" | "session"} Place  `session` is for this tab alone. */

/** Browsers refuse even the object where storage is forbidden. @param {Place} place */
const at = (place) => (place === "local" ? localStorage : sessionStorage);

/**
 * A kept text; empty when there is none.
 *
 * @param {string} key
 * @param {string} what  for the console, like `The draft`
 * @param {Place} [place]
 */
export function readText(key, what, place = "local") {
  try {
    return at(place).getItem(key) ?? "";
  } catch (error) {
    console.warn(`${what} cannot be read.`, error);
    return "";
  }
}

/**
 * A kept JSON value, or `otherwise` when there is none that can be read.
 *
 * @param {string} key
 * @param {any} otherwise
 * @param {string} what
 * @returns {any}
 */
export function readValue(key, otherwise, what) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? otherwise;
  } catch (error) {
    console.warn(`${what} cannot be read.`, error);
    return otherwise;
  }
}

/**
 * @param {string} key
 * @param {string} text  empty forgets it
 * @param {string} what
 * @param {Place} [place]
 * @returns {boolean} whether it is kept
 */
export function keepText(key, text, what, place = "local") {
  try {
    if (text) at(place).setItem(key, text);
    else at(place).removeItem(key);
    return true;
  } catch (error) {
    console.warn(`${what} cannot be kept.`, error);
    return false;
  }
}
