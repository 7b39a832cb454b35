/** The page of the calls: reads /openapi.json and shows it, group by group. What is closed is drawn when it is opened. */

import { byId, h } from "./core/dom.js";
import { restoreTheme } from "./core/theme.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./core/dom.js").Child} Child */

/** @type {Json} */
let api = {};

/** @param {Json} value  what a reference leads to, or the value itself */
function follow(value) {
  const steps = value.$ref?.slice(2).split("/");
  return steps ? steps.reduce((/** @type {Json} */ found, /** @type {string} */ step) => found[step], api) : value;
}

/** @param {string} name */
const schemaLink = (name) => h("a", { href: `#schema-${name}` }, name);

/**
 * @param {Child[][]} parts
 * @param {string} word
 */
const joined = (parts, word) => parts.flatMap((part, index) => (index ? [word, ...part] : part));

/** @param {string} text  words with code between backticks */
const words = (text) => text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));

/** @param {Json} schema */
function limits(schema) {
  const told = [];
  if ("maxLength" in schema) told.push(`at most ${schema.maxLength.toLocaleString()} characters`);
  if ("maxItems" in schema) told.push(`at most ${schema.maxItems.toLocaleString()}`);
  if ("minimum" in schema) told.push(`from ${schema.minimum}`);
  if ("maximum" in schema) told.push(`to ${schema.maximum}`);
  return told.length ? `, ${told.join(" ")}` : "";
}

/**
 * A type in words.
 *
 * @param {Json} schema
 * @returns {Child[]}
 */
function typeOf(schema) {
  if (schema.$ref) return [schemaLink(schema.$ref.split("/").pop())];
  if (schema.contentSchema) return ["JSON of ", ...typeOf(schema.contentSchema), " as text"];
  if (schema.anyOf) return joined(schema.anyOf.map(typeOf), " or ");
  if (schema.enum) return joined(schema.enum.map((/** @type {unknown} */ one) => [h("code", {}, JSON.stringify(one))]), " or ");
  if (schema.type === "array") return ["array of ", ...typeOf(schema.items ?? {}), limits(schema)];
  return [(schema.type ?? "anything") + limits(schema)];
}

/**
 * @param {string} name
 * @param {boolean} required
 * @param {...Child} about
 */
const item = (name, required, ...about) =>
  h("div", { class: "item" }, h("dt", { class: required ? "must" : null }, h("code", {}, name)), h("dd", {}, ...about));

/** @param {Json} schema */
function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    item(name, schema.required?.includes(name), h("span", { class: "quiet" }, ...typeOf(field)), field.description ? h("div", {}, ...words(field.description)) : null),
  );
  return rows.length ? h("dl", {}, ...rows) : h("p", {}, ...typeOf(schema));
}

/** @param {Json[]} parameters */
function parameterList(parameters) {
  const rows = parameters.map((one) =>
    item(one.name, one.required, h("span", { class: "quiet" }, one.in, ", ", ...typeOf(one.schema)), h("div", {}, ...words(one.description))),
  );
  return rows.length ? [h("h3", {}, "Parameters"), h("dl", {}, ...rows)] : [];
}

/**
 * What a body holds: as JSON where it may be sent so, else in its first form.
 *
 * @param {Json} body
 */
const contentOf = (body) => body.content["application/json"] ?? Object.values(body.content)[0];

/** @param {Json} body */
function bodyOf(body) {
  const media = Object.keys(body.content);
  const { schema } = contentOf(body);
  return [h("h3", {}, "Body"), h("p", { class: "quiet" }, ...typeOf(schema), ` as ${media.join(", ")}`), fields(follow(schema))];
}

/** @param {Json} answers */
function answerList(answers) {
  const rows = Object.entries(answers).map(([status, given]) => {
    const answer = follow(given);
    const content = Object.entries(answer.content ?? {}).map(([media, { schema }]) =>
      h("div", { class: "quiet" }, ...typeOf(schema), ` as ${media}`),
    );
    return item(status, false, h("div", {}, ...words(answer.description)), ...content);
  });
  return [h("h3", {}, "Answers"), h("dl", {}, ...rows)];
}

/** @param {Json} body */
function exampleBody(body) {
  const { schema, example } = contentOf(body);
  if (example) return example;
  const { properties, required = [] } = follow(schema);
  return Object.fromEntries(required.map((/** @type {string} */ name) => [name, properties[name].type === "array" ? ["…"] : "…"]));
}

/**
 * @param {string} path
 * @param {string} method
 * @param {Json} operation
 */
function curl(path, method, operation) {
  const parts = ["curl"];
  if ("text/event-stream" in (operation.responses[200]?.content ?? {})) parts.push("-N");
  if (method !== "get" && !(method === "post" && operation.requestBody)) parts.push(`-X ${method.toUpperCase()}`);
  parts.push(`'${location.origin}${path}'`);
  const { requestBody: body } = operation;
  if (body) parts.push("application/json" in body.content ? `--json '${JSON.stringify(exampleBody(body))}'` : "-F 'files=@notes.txt'");
  return parts.join(" ");
}

/**
 * Something that is drawn when it is first opened.
 *
 * @param {string} id
 * @param {Child[]} head
 * @param {() => Child[]} draw
 */
function fold(id, head, draw) {
  const node = h("details", { id }, h("summary", {}, ...head));
  node.addEventListener("toggle", () => node.append(h("div", { class: "inside" }, ...draw())), { once: true });
  return node;
}

/**
 * @param {string} path
 * @param {string} method
 * @param {Json} operation
 */
function call(path, method, operation) {
  const name = h("code", { class: "method", "data-method": method }, method.toUpperCase());
  const node = fold(operation.operationId, [name, h("code", {}, path), h("span", { class: "quiet" }, operation.summary)], () => [
    operation.description ? h("p", {}, ...words(operation.description)) : null,
    ...parameterList(operation.parameters ?? []),
    ...(operation.requestBody ? bodyOf(operation.requestBody) : []),
    ...answerList(operation.responses),
    h("h3", {}, "Example"),
    h("pre", { tabindex: 0 }, curl(path, method, operation)),
  ]);
  node.dataset.words = `${method} ${path} ${operation.summary}`.toLowerCase();
  return node;
}

/** @param {Json} tag */
function group(tag) {
  const calls = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).filter(([, operation]) => operation.tags[0] === tag.name).map(([method, operation]) => call(path, method, operation)),
  );
  return h("section", { id: `tag-${tag.name}` }, h("h2", {}, tag.name), h("p", { class: "quiet" }, tag.description), ...calls);
}

function schemaGroup() {
  const folds = Object.entries(api.components.schemas).map(([name, schema]) => {
    const node = fold(`schema-${name}`, [h("code", {}, name)], () => [schema.description ? h("p", {}, ...words(schema.description)) : null, fields(schema)]);
    node.dataset.words = name.toLowerCase();
    return node;
  });
  return h("section", { id: "tag-Types" }, h("h2", {}, "Types"), h("p", { class: "quiet" }, "What bodies, answers and frames are made of"), ...folds);
}

function openAddress() {
  const node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (node instanceof HTMLDetailsElement) node.open = true;
  node?.scrollIntoView();
}

function filter() {
  const wanted = byId("filter", HTMLInputElement).value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll("section")) {
    let shown = 0;
    for (const node of section.querySelectorAll("details")) {
      node.hidden = !wanted.every((word) => node.dataset.words?.includes(word));
      shown += Number(!node.hidden);
    }
    section.hidden = !shown;
  }
}

async function start() {
  const status = byId("status", HTMLElement);
  try {
    const response = await fetch("/openapi.json");
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    api = await response.json();
  } catch (error) {
    console.warn("The description cannot be read.", error);
    status.textContent = "The description cannot be read. Is the server still running?";
    return;
  }
  byId("about", HTMLElement).textContent = `${api.info.title} ${api.info.version}. ${api.info.description}`;
  byId("calls", HTMLElement).append(...api.tags.map(group), schemaGroup());
  const names = [...api.tags.map((/** @type {Json} */ tag) => tag.name), "Types"];
  byId("tags", HTMLElement).append(...names.map((name) => h("a", { href: `#tag-${name}` }, name)));
  status.replaceChildren("A star marks what is required. All of it as ", h("a", { href: "/openapi.json" }, "an OpenAPI document"), ".");
  byId("filter", HTMLInputElement).addEventListener("input", filter);
  openAddress();
}

restoreTheme();
addEventListener("hashchange", openAddress);
void start();
