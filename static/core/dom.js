/** Small helpers around the document. Text goes in as text; `setHtml` is the one place that takes markup. */

/** @typedef {Node | string | null | false | undefined} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Props */

/** Whether Command takes the place of Control. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/**
 * Make an element. A function under `onclick` and the like becomes a listener, `true` an empty attribute, and
 * `false`, null and undefined leave the attribute out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.filter((child) => child || child === "").map((child) => /** @type {Node | string} */ (child)));
  return node;
}

/**
 * @param {string} text
 * @param {() => void} onClick
 * @param {string} [kind]
 */
export const smallButton = (text, onClick, kind = "") => h("button", { type: "button", class: `button small ${kind}`, onclick: onClick }, text);

/**
 * The element with this id, of this class.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  const node = document.getElementById(id);
  if (!(node instanceof type)) throw new Error(`The page has no #${id}`);
  return node;
}

/**
 * Set markup that the server rendered and sanitised. The only use of innerHTML in the page.
 *
 * @param {Element} node
 * @param {string} html
 */
export function setHtml(node, html) {
  node.innerHTML = html;
}

/**
 * Set text only when it differs, so that live regions and observers hear no empty change.
 *
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @template T
 * @typedef {{ node: HTMLElement, update: (item: T) => void }} Row
 */

/**
 * Make the children of `parent` the rows of `items`, in order. A row that stays is updated in place and is not moved
 * unless its order changed.
 *
 * @template T
 * @param {HTMLElement} parent
 * @param {Map<string, Row<T>>} rows
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => Row<T>} create
 */
export function reconcile(parent, rows, items, keyOf, create) {
  const wanted = new Set(items.map(keyOf));
  for (const [key, row] of rows) {
    if (wanted.has(key)) continue;
    row.node.remove();
    rows.delete(key);
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const row = rows.get(key) ?? create(item);
    rows.set(key, row);
    row.update(item);
    if (row.node === place) place = place.nextElementSibling;
    else parent.insertBefore(row.node, place);
  }
}
