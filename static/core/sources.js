/**
 * The sources of an answer, by the numbers that its text cites them by. One numbering: what the web gave before the
 * answer, then passages of the library, then what the agent's tools found, whose numbers the server tells. Pure.
 */

/** @import { FoundSource, Given, PassageSource, Source, WebSource } from "./types.js" */

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value.trim() : "");

/**
 * A page of the web. Its address may be opened only when it is one of the web.
 *
 * @param {number} number
 * @param {WebSource} given
 * @returns {Source}
 */
function page(number, { url, title, domain, snippet }) {
  const parsed = URL.canParse(text(url)) ? new URL(text(url)) : null;
  const address = parsed && /^https?:$/.test(parsed.protocol) ? parsed : null;
  const name = text(title) || address?.hostname || "A page without a name";
  const about = address?.hostname ?? text(domain); // where the link really goes
  return { number, kind: "Web", title: name, about, text: text(snippet), href: address?.href ?? "" };
}

/**
 * @param {number} number
 * @param {PassageSource} given
 * @returns {Source}
 */
const passage = (number, { filename, page: at, snippet }) => ({
  number,
  kind: "Library",
  title: text(filename) || "A file",
  about: Number.isInteger(at) ? `page ${at}` : "",
  text: text(snippet),
  href: "",
});

/** @param {FoundSource} row */
const found = (row) => (row.url ? page(row.number, row) : passage(row.number, { ...row, filename: row.title }));

/**
 * What the list under an answer shows, in the order of the numbers.
 *
 * @param {Given} given
 * @returns {Source[]}
 */
export function sourcesOf({ web, passages, found: rows }) {
  const before = [...web.map((one, at) => page(at + 1, one)), ...passages.map((one, at) => passage(web.length + at + 1, one))];
  const more = new Map(rows.filter(({ number }) => number > before.length).map((row) => [row.number, found(row)]));
  return [...before, ...[...more.values()].sort((one, other) => one.number - other.number)];
}

/**
 * Whether it is a report, which cites its findings and not the pages they are from.
 *
 * @param {Given} given
 */
export const isReport = ({ research, findings }) => research !== null || findings.length > 0;

/**
 * What the numbers in an answer's text stand for.
 *
 * @param {Given} given
 * @returns {Source[]}
 */
export function citedOf(given) {
  if (!isReport(given)) return sourcesOf(given);
  return given.findings.map((one, at) => page(at + 1, { url: one.source_url, title: one.source_title, snippet: text(one.passage) || one.text }));
}
