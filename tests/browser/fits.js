// What does not fit in the page as it stands: each fault as a sentence. Read by test_page_fits.py.

(coarse) => {
  const faults = [];
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  const root = dialog ?? document.body;
  const name = (node) =>
    `${node.localName}${node.id && `#${node.id}`}${typeof node.className === "string" && node.className && `.${node.className.split(" ").join(".")}`} "${(node.getAttribute("aria-label") ?? node.textContent ?? "").trim().slice(0, 24)}"`;
  const style = (node) => getComputedStyle(node);
  const scrolls = (node) => /auto|scroll/.test(style(node).overflowX) && node.scrollWidth > node.clientWidth;
  const above = (node) => {
    const all = [];
    for (let at = node.parentElement; at; at = at.parentElement) all.push(at);
    return all;
  };
  const shown = (node) => {
    const { width, height } = node.getBoundingClientRect();
    return width > 1 && height > 1 && node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !node.disabled && !node.closest("[inert], .sr-only, .skip");
  };

  // Nothing scrolls sideways but what is made for it.
  const ways = [document.documentElement, document.body, ...root.querySelectorAll("main, dialog, section, aside, #scroller, .list, .doc-body, form, .panel, header")];
  for (const node of ways) {
    if (node.scrollWidth > node.clientWidth + 1 && style(node).display !== "inline" && style(node).overflowX !== "visible" && style(node).overflowX !== "hidden") {
      faults.push(`scrolls sideways: ${name(node)} ${node.scrollWidth}/${node.clientWidth}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);

  const controls = [...root.querySelectorAll("button, a[href], input, select, textarea, summary")].filter(shown);
  for (const node of controls) {
    const target = (node.matches("input[type=checkbox], input[type=radio]") && node.closest("label")) || node;
    const { left, right, top, bottom, width, height } = target.getBoundingClientRect();
    const parents = above(node);

    // Nothing is cut at the edge of the window, or of what holds it.
    const moved = parents.some(scrolls);
    if (!moved && (left < -1 || right > innerWidth + 1)) faults.push(`cut by the window: ${name(node)} ${Math.round(left)}..${Math.round(right)}`);
    if (!moved) {
      for (const parent of parents) {
        const box = parent.getBoundingClientRect();
        if (style(parent).overflowX === "hidden" && (left < box.left - 2 || right > box.right + 2)) faults.push(`cut by ${name(parent)}: ${name(node)}`);
      }
    }

    // Nothing lies over it, where it is in sight.
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const seen = [...parents, document.documentElement].every((parent) => {
      if (parent !== document.documentElement && !/auto|scroll|hidden/.test(style(parent).overflowY)) return true;
      const box = parent.getBoundingClientRect();
      return y > Math.max(0, box.top) && y < Math.min(innerHeight, box.bottom) && x > Math.max(0, box.left) && x < Math.min(innerWidth, box.right);
    });
    const hit = seen && document.elementFromPoint(x, y);
    const over = hit && hit.closest(".panel, #picker-panel, #latest, #document, .source-card, .row .more, .copy, .top, #find");
    if (hit && !target.contains(hit) && !hit.contains(target) && !(over && !over.contains(node))) faults.push(`under ${name(hit.closest("button, a") ?? hit)}: ${name(node)}`);

    // A finger hits it, unless it stands in a line of text.
    const inText = node.matches(":is(p, li, td, th, label, small, .source-head) a, .block a, .cite button");
    if (coarse && !inText && (width < 43.5 || height < 43.5)) faults.push(`small for a finger: ${name(node)} ${Math.round(width)}x${Math.round(height)}`);
  }
  return faults;
};
