// What cannot be seen in forced colours: a button without words, drawing or border, and a focus without a mark.

() => {
  const faults = [];
  const root = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const name = (node) => `${node.localName}#${node.id}.${node.className} "${(node.getAttribute("aria-label") ?? node.textContent ?? "").trim().slice(0, 24)}"`;
  const line = (style, side) => style[`${side}Style`] !== "none" && Number.parseFloat(style[`${side}Width`]) > 0;
  const shown = (node) => node.getBoundingClientRect().width > 1 && node.checkVisibility({ visibilityProperty: true }) && !node.disabled && !node.closest("[inert], .sr-only");
  const controls = [...root.querySelectorAll("button, a[href], input, select, textarea, summary, [tabindex='0']")].filter(shown);
  for (const node of controls) {
    const style = getComputedStyle(node);
    const drawn = [...node.querySelectorAll("svg, svg *")].some((part) => getComputedStyle(part).stroke !== "none");
    const seen = node.innerText?.trim() || drawn || line(style, "borderTop");
    if (!seen && !node.matches("#message, input, textarea, [tabindex='0']")) faults.push(`nothing to see: ${name(node)}`);
  }
  const before = document.activeElement;
  for (const node of controls) {
    node.focus({ preventScroll: true });
    if (document.activeElement !== node) continue;
    const marked = node.id === "message" ? node.closest("form") : node;
    if (!line(getComputedStyle(marked), "outline")) faults.push(`a focus that is not seen: ${name(node)}`);
  }
  before?.focus({ preventScroll: true });
  return faults;
};
