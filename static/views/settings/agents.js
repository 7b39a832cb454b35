/** Settings, agents: those of the settings file that other programs call, each with its address and how to ask it. */

/** @import { AgentInfo } from "../../core/types.js" */

import { copyButton } from "../../core/clipboard.js";
import { h } from "../../core/dom.js";
import { agents } from "../../core/settings.js";
import { attempt, createSaid } from "./parts.js";

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  const { node: said, say } = createSaid();
  const list = h("ul", { class: "setting-rows" });
  root.replaceChildren(h("p", { class: "quiet" }, "Other programs call these by their address. They are set up in the settings file, as [agents.name]; here they are only shown."), said, list);
  void attempt(async () => {
    const found = await agents();
    list.replaceChildren(...found.map(row));
    if (!found.length) say("There is no agent.");
  }, (why) => say(why, "bad"));
}

/** @param {AgentInfo} agent */
function example({ path }) {
  const body = JSON.stringify({ message: "Hello" });
  return `curl ${location.origin}${path} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`;
}

/** @param {AgentInfo} agent */
function row(agent) {
  const asks = [agent.endpoint, agent.model].filter(Boolean).join(" · ");
  const may = agent.tools.length ? agent.tools.map((tool) => (agent.allow.includes(tool) ? `${tool} (without asking)` : tool)).join(", ") : "none: it only talks";
  const text = example(agent);
  const head = h("span", { class: "row-name" }, h("span", { class: "dot", "data-state": agent.ready ? "ready" : "unreachable", "aria-hidden": "true" }), h("strong", { dir: "auto" }, agent.name), h("span", { class: "quiet" }, agent.ready ? "Ready" : "Not ready"));
  const facts = h("dl", { class: "facts" }, ...pair("Answer", agent.path), ...pair("Stream", `${agent.path}/stream`), ...pair("Model", asks), ...pair("Tools", may));
  const code = h("div", { class: "example" }, h("pre", { class: "output", tabindex: 0, dir: "ltr" }, text), copyButton("Copy the command", () => text));
  return h("li", {}, h("div", { class: "row-about" }, head, agent.description && h("span", { dir: "auto" }, agent.description), facts, code));
}

/** @type {(name: string, value: string) => HTMLElement[]} */
const pair = (name, value) => [h("dt", {}, name), h("dd", { dir: "auto" }, value)];
