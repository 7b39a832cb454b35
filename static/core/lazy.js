/** Views that are not needed to chat, and their style sheets: they come when they are first wanted, and not before. */

import { set, state } from "./state.js";

/** @type {Map<string, Promise<void>>} */
const known = new Map();

/**
 * Load `/static/css/<name>.css`, once. A view waits for it before it shows itself.
 *
 * @param {string} name
 * @returns {Promise<void>}
 */
export function loadStyle(name) {
  const loading = known.get(name) ?? append(name);
  known.set(name, loading);
  return loading;
}

/** @param {string} name */
function append(name) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = `/static/css/${name}.css`;
  return new Promise((/** @type {(value?: undefined) => void} */ done) => {
    link.addEventListener("load", () => done());
    link.addEventListener("error", () => done()); // plain is better than not at all
    document.head.append(link);
  });
}

/**
 * What loads a part and starts it, once. When the part cannot be had, the next wish tries again.
 *
 * @template T
 * @param {() => Promise<T | null>} load
 * @param {(part: T) => unknown} start
 */
export function once(load, start) {
  let begun = false;
  return async () => {
    if (begun) return;
    begun = true;
    const part = await load();
    begun = part !== null;
    if (part) await start(part);
  };
}

/**
 * Load a part of the page. When it cannot be had, that is said, and the next wish tries again.
 *
 * @template T
 * @param {string} what  like `The settings`
 * @param {() => Promise<T>} load
 * @returns {Promise<T | null>}
 */
export async function loadPart(what, load) {
  const problem = `${what} cannot be loaded. Is the server still running?`;
  try {
    const part = await load();
    if (state.alert === problem) set({ alert: "" });
    return part;
  } catch (error) {
    console.warn(problem, error);
    set({ alert: problem });
    return null;
  }
}
