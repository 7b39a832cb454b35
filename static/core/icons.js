/** The page's icons: line drawings on a 24 by 24 grid, made as nodes. */

const PATHS = {
  more: "M6 12h.010M12 12h.010M18 12h.010",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  check: "M5 12.500l4.500 4.500L19 7.500",
  close: "M6 6l12 12M18 6L6 18",
  attach: "M19 11l-7.5 7.5a4.2 4.2 0 0 1-6-6L13.5 4.5a2.8 2.8 0 0 1 4 4L9.8 16.2a1.4 1.4 0 0 1-2-2L15 7",
  running: "M12 4a8 8 0 1 1-8 8",
  done: "M5 12.500l4.500 4.500L19 7.500",
  failed: "M7 7l10 10M17 7L7 17",
  waiting: "M9 7v10M15 7v10",
  stopped: "M8 8h8v8H8z",
  todo: "M6 6h12v12H6z",
  ticked: "M6 6h12v12H6zM9 12l2.200 2.200L15.500 9.500",
  doing: "M6 6h12v12H6zM9 12h6",
  shield: "M12 4l7 2.500v5c0 4-3 7-7 8.500-4-1.500-7-4.500-7-8.500v-5zM12 9v4M12 15.500h.010",
  ask: "M12 4a8 8 0 1 0 .010 0M9.800 9.800a2.300 2.300 0 1 1 3.300 2.100c-.700.300-1.100.800-1.100 1.600M12 16h.010",
  list: "M8 7h12M8 12h12M8 17h12M4 7h.010M4 12h.010M4 17h.010",
  save: "M12 4v10M8 10l4 4 4-4M5 18v2h14v-2",
  file: "M7 4h7l4 4v12H7zM14 4v4h4",
  up: "M6 14l6-6 6 6",
  down: "M6 10l6 6 6-6",
  globe: "M12 4a8 8 0 1 0 .010 0M4.500 10h15M4.500 14.500h15M12 4c-4.500 4.500-4.500 11.500 0 16 4.500-4.500 4.500-11.500 0-16",
  before: "M14.500 6l-6 6 6 6",
  after: "M9.500 6l6 6-6 6",
  again: "M19 12a7 7 0 1 1-2.100-5M17 3.500V7.500h-4",
  edit: "M5 19l1-4L15.500 5.500l3 3L9 18zM13.500 7.500l3 3",
  fork: "M6 5v14M6 14h6a5 5 0 0 0 5-5V5M14 8l3-3 3 3",
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
