/** One source in a small window at the number that cites it: its name, what it says, and the way to it. Loaded with the first. */

/** @import { Source } from "../core/types.js" */

import { h } from "../core/dom.js";
import { loadStyle } from "../core/lazy.js";

/** Pixels to the window's edge, and to the number. */
const EDGE = 8;
const GAP = 6;

/** @type {{ button: () => HTMLElement | undefined, close: (giveFocusBack: boolean) => void } | null} */
let shown = null;

/**
 * Show it, or put it away when it was this number's. Escape, a click elsewhere and leaving it with Tab put it away too.
 *
 * @param {HTMLElement} from
 * @param {Source} source
 */
export async function showSource(from, source) {
  await loadStyle("source");
  const again = shown?.button() === from;
  shown?.close(again);
  if (again) return;
  const node = draw(source);
  const button = follow(from);
  const end = new AbortController();
  const { signal } = end;
  /** @param {boolean} giveFocusBack */
  const close = (giveFocusBack) => {
    end.abort();
    if (giveFocusBack) button()?.focus({ preventScroll: true });
    node.remove();
    shown = null;
  };
  const keep = () => place(node, button()) || close(false);
  /** @param {EventTarget | null} at */
  const isOutside = (at) => at instanceof Node && !node.contains(at) && !button()?.contains(at);
  document.addEventListener("pointerdown", ({ target }) => isOutside(target) && close(false), { capture: true, signal });
  node.addEventListener("focusout", ({ relatedTarget }) => isOutside(relatedTarget) && close(false), { signal });
  document.addEventListener("keydown", (event) => event.key === "Escape" && closeOnly(event, close), { capture: true, signal });
  document.addEventListener("scroll", keep, { capture: true, passive: true, signal });
  addEventListener("resize", keep, { signal });
  addEventListener("hashchange", () => close(false), { signal });
  shown = { button, close };
  document.body.append(node);
  node.showPopover();
  keep();
  node.focus({ preventScroll: true });
}

/**
 * @param {KeyboardEvent} event
 * @param {(giveFocusBack: boolean) => void} close
 */
function closeOnly(event, close) {
  event.preventDefault(); // only this closes; an answer goes on
  close(true);
}

/**
 * The button as it is now: a block that is still written is drawn again and again.
 *
 * @param {HTMLElement} button
 * @returns {() => HTMLElement | undefined}
 */
function follow(button) {
  const answer = button.closest("article");
  const buttons = () => [...(answer?.querySelectorAll(".cite button") ?? [])].filter((one) => one instanceof HTMLElement);
  const at = buttons().indexOf(button);
  return () => (button.isConnected ? button : buttons()[at]);
}

/** @param {Source} source */
function draw({ number, kind, title, about, text, href }) {
  const head = h("p", { class: "source-title", dir: "auto" }, h("b", {}, String(number)), title);
  const open = h("a", { class: "button small", href, target: "_blank", rel: "noopener noreferrer" }, "Open");
  return h(
    "div",
    { class: "source-card", popover: "manual", role: "dialog", "aria-label": `Source ${number}`, tabindex: -1 },
    head,
    h("p", { class: "quiet" }, [kind, about].filter(Boolean).join(" · ")),
    text && h("blockquote", { dir: "auto" }, text),
    href && open,
  );
}

/**
 * Put it below the button, or above where there is no room. Says whether the button is in sight.
 *
 * @param {HTMLElement} node
 * @param {HTMLElement | undefined} button
 */
function place(node, button) {
  const at = button?.getBoundingClientRect();
  const sight = document.getElementById("scroller")?.getBoundingClientRect();
  if (!at || (sight && (at.bottom < sight.top || at.top > sight.bottom))) return false;
  const { width, height } = node.getBoundingClientRect();
  const below = at.bottom + GAP;
  const top = below + height + EDGE <= innerHeight ? below : at.top - GAP - height;
  const left = Math.min(at.left + at.width / 2 - width / 2, document.documentElement.clientWidth - width - EDGE);
  node.style.top = `${Math.max(EDGE, top)}px`;
  node.style.left = `${Math.max((sight?.left ?? 0) + EDGE, left)}px`;
  return true;
}
