/** The page's icons: line drawings on a 24 by 24 grid, made as nodes. */

const PATHS = {
  more: "M6 12h.010M12 12h.010M18 12h.010",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  check: "M5 12.500l4.500 4.500L19 7.500",
  close: "M6 6l12 12M18 6L6 18",
  bin: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
};

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {keyof typeof PATHS} IconName */

/**
 * @param {IconName} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
