/**
 * What the browser keeps for the page. What storage that is full or forbidden does not take stands for as long as the page is
 * open, and the console hears of it once.
 */

/** @typedef {"local" | "session"} Place  `session` is for this tab alone. */

/** What storage did not take, by place and key. @type {Map<string, string>} */
const unkept = new Map();

/** @type {Set<string>} */
const told = new Set();

/** Browsers refuse even the object where storage is forbidden. @param {Place} place */
const at = (place) => (place === "local" ? localStorage : sessionStorage);

/**
 * @param {string} problem
 * @param {unknown} error
 */
function tell(problem, error) {
  if (told.has(problem)) return;
  told.add(problem);
  console.warn(problem, error);
}

/**
 * A kept text; empty when there is none.
 *
 * @param {string} key
 * @param {string} what  for the console, like `The draft`
 * @param {Place} [place]
 */
export function readText(key, what, place = "local") {
  const own = unkept.get(`${place} ${key}`);
  if (own !== undefined) return own;
  try {
    return at(place).getItem(key) ?? "";
  } catch (error) {
    tell(`${what} cannot be read.`, error);
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
    return JSON.parse(readText(key, what) || "null") ?? otherwise;
  } catch (error) {
    tell(`${what} cannot be read.`, error);
    return otherwise;
  }
}

/**
 * @param {string} key
 * @param {string} text  empty forgets it
 * @param {string} what
 * @param {Place} [place]
 * @returns {boolean} whether it outlives the page
 */
export function keepText(key, text, what, place = "local") {
  try {
    if (text) at(place).setItem(key, text);
    else at(place).removeItem(key);
    unkept.delete(`${place} ${key}`);
    return true;
  } catch (error) {
    unkept.set(`${place} ${key}`, text);
    tell(`${what} cannot be kept.`, error);
    return false;
  }
}
