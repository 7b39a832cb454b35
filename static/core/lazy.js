/** Style sheets that come with the views that need them, and not before. */

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
