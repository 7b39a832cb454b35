/** How far a research is, in words and figures, from frames or from the history. Pure. */

/** @import { Frame, Research, Terminal } from "./types.js" */

import { count } from "./words.js";

/** @returns {Research} */
const newResearch = () => ({ id: "", phase: "", round: 0, title: "", pages: 0, findings: 0, done: false });

/** @type {(value: unknown) => any} */
const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/** @param {unknown} value */
const length = (value) => (Array.isArray(value) ? value.length : 0);

/**
 * What a frame makes of it; other frames leave it as it is.
 *
 * @param {Research | null} research
 * @param {Frame} frame
 * @returns {Research | null}
 */
export function afterFrame(research, frame) {
  const { type, data } = /** @type {{ type?: string, data?: unknown }} */ (frame);
  if (type === "research_progress") return progressed(research ?? newResearch(), object(data));
  if (!research) return research;
  if (type === "research_sources") return { ...research, pages: length(data) };
  if (type === "research_findings") return { ...research, findings: length(data) };
  return type === "research_done" ? { ...research, done: true } : research;
}

/**
 * @param {Research} research
 * @param {any} data
 * @returns {Research}
 */
function progressed(research, data) {
  const { pages, findings, round } = research;
  return {
    ...research,
    id: text(data.research_id) || research.id,
    phase: text(data.phase),
    title: text(data.title),
    round: Number(data.round) || round,
    pages: data.phase === "reading" ? pages + 1 : pages,
    findings: Number(data.total_findings) || findings,
  };
}

/**
 * The research that a stored answer comes from.
 *
 * @param {Terminal | null} metadata
 * @returns {Research | null}
 */
export function storedResearch(metadata) {
  const { id, sources, findings } = object(metadata?.research);
  if (!text(id)) return null;
  return { ...newResearch(), id, pages: length(sources), findings: length(findings), done: metadata?.status === "completed" };
}

/** What it does now, in a line. @param {Pick<Research, "phase" | "round" | "title">} research */
export function doing({ phase, round, title }) {
  switch (phase) {
    case "probing":
    case "planning":
      return "Planning the research…";
    case "searching":
      return round > 1 ? `Searching the web, round ${round}…` : "Searching the web…";
    case "reading":
      return title ? `Reading “${title}”…` : "Reading pages…";
    case "analyzing":
      return "Finding what the pages say…";
    case "writing":
      return "Writing the report…";
    default:
      return "Researching…";
  }
}

/** What it has so far: `12 pages · 8 findings`. @param {{ pages: number, findings: number }} research */
export const figuresOf = ({ pages, findings }) =>
  [pages && `${count(pages)} ${pages === 1 ? "page" : "pages"}`, findings && `${count(findings)} ${findings === 1 ? "finding" : "findings"}`].filter(Boolean).join(" · ");

/**
 * Where its report is.
 *
 * @param {string} id
 * @param {"html" | "md"} [format]
 */
export const reportAddress = (id, format = "html") => `/api/research/report/${encodeURIComponent(id)}?fmt=${format}`;
