/** Settings, tools: what the agent may use, under its families, with what it does and whether it asks; and MCP servers. */

/** @import { Policy, ToolInfo, ToolServer } from "../../core/types.js" */

import { h } from "../../core/dom.js";
import { changeTool, tools } from "../../core/settings.js";
import { attempt, createSaid } from "./parts.js";

/** @type {Record<Policy, string>} */
const POLICIES = { allow: "Runs at once", ask: "Asks first", deny: "Never runs" };

/** @type {Record<string, string>} */
const EFFECTS = { read: "reads", write: "writes", execute: "runs programs", network: "uses the network", private: "knows you", destructive: "can delete" };

/** @type {Record<string, string>} */
const STATES = { starting: "Starting", ready: "Ready", failed: "Failed", missing: "Not installed" };

/** The state of a server as that of a dot. @type {Record<string, string>} */
const DOTS = { starting: "loading", ready: "ready", failed: "failed", missing: "unreachable" };

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  const { node: said, say } = createSaid();
  const list = h("div", { class: "groups" });
  root.replaceChildren(h("p", { class: "quiet" }, "What the agent may do. A choice holds from its next run on, in all chats, also for a card that waits."), said, list);
  void attempt(async () => {
    const found = await tools();
    const families = [...new Set(found.tools.map(({ family }) => family))];
    const groups = families.map((family) => group(family || "Others", found.tools.filter((tool) => tool.family === family)));
    list.replaceChildren(...groups, servers(found.servers));
  }, (why) => say(why, "bad"));
}

/**
 * @param {string} family
 * @param {ToolInfo[]} some
 */
const group = (family, some) => h("section", {}, h("h4", { dir: "auto" }, family), h("ul", { class: "setting-rows" }, ...some.map(row)));

/** The first sentence of what the model is told. @param {string} text */
const brief = (text) => /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/:$/, ".") ?? text;

/** @param {ToolInfo} tool */
function row(tool) {
  const { node: said, say } = createSaid();
  let now = tool;
  const options = Object.entries(POLICIES).map(([value, text]) => h("option", { value, selected: value === tool.policy }, value === tool.default ? `${text} (default)` : text));
  const choice = h("select", { class: "field", "aria-label": `What ${tool.name} may do`, disabled: tool.fixed }, ...options);
  choice.addEventListener("change", async () => {
    choice.disabled = true;
    const policy = /** @type {Policy} */ (choice.value);
    say("");
    await attempt(async () => {
      now = await changeTool(tool.name, policy === tool.default ? "default" : policy);
      say("Kept.", "good");
    }, (why) => say(why, "bad"));
    choice.value = now.policy;
    choice.disabled = tool.fixed;
    choice.focus();
  });
  const effects = h("span", { class: "quiet effects" }, tool.effects.map((effect) => EFFECTS[effect] ?? effect).join(" · "));
  const about = h("div", { class: "row-about" }, h("strong", { class: "code" }, tool.name), h("span", { dir: "auto" }, brief(tool.description)), effects, tool.note && h("span", { class: "quiet" }, `${tool.note} It cannot be changed here.`), said);
  return h("li", {}, about, choice);
}

/** @param {ToolServer[]} found */
function servers(found) {
  const rows = found.map(({ name, state, note }) => {
    const head = h("span", { class: "row-name" }, h("span", { class: "dot", "data-state": DOTS[state], "aria-hidden": "true" }), h("strong", { dir: "auto" }, name), h("span", { class: "quiet" }, STATES[state] ?? state));
    return h("li", {}, h("div", { class: "row-about" }, head, note && h("span", { class: "quiet" }, note)));
  });
  const none = h("p", { class: "quiet" }, "None. They are listed in the settings file, as [[mcp]].");
  return h("section", {}, h("h4", {}, "MCP servers"), rows.length ? h("ul", { class: "setting-rows" }, ...rows) : none);
}
