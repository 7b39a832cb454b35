/** Settings, endpoints: those there are with how they are, those found on this machine, and adding, testing, changing one. */

/** @import { Endpoint, FoundServer } from "../../core/types.js" */

import * as api from "../../core/api.js";
import { h, smallButton as small } from "../../core/dom.js";
import { addEndpoint, refreshModels, removeEndpoint } from "../../core/models.js";
import { changeEndpoint, testEndpoint } from "../../core/settings.js";
import { state } from "../../core/state.js";
import { tellTabs } from "../../core/tabs.js";
import { attempt, confirmed, createSaid, field, many } from "./parts.js";

/** @type {Record<string, string>} */
const STATES = { ready: "Ready", missing: "Not installed", loading: "Loading", idle: "Loads when used", failed: "Failed", unreachable: "Not reachable" };

/** The fields of an endpoint. @param {Partial<Endpoint>} [known] */
function fields(known = {}) {
  const plain = { autocomplete: "off", spellcheck: false };
  const address = field("Address", h("input", { type: "url", required: true, placeholder: "http://127.0.0.1:11434/v1", value: known.base_url, ...plain }));
  const key = field("Key", h("input", { type: "password", autocomplete: "off" }), known.has_key ? "empty keeps the one it has" : "if it needs one");
  const label = field("Name", h("input", { type: "text", maxlength: 80, value: known.label, ...plain }), "optional");
  const read = () => ({
    base_url: address.input.value.trim(),
    ...(key.input.value.trim() && { api_key: key.input.value.trim() }),
    ...(label.input.value.trim() && { label: label.input.value.trim() }),
  });
  return { nodes: [address.node, key.node, label.node], address, read };
}

/** @param {FoundServer} found */
const answers = ({ label, models }) => `${label} answers, with ${many(models.length, "model")}. Nothing is kept yet.`;

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  const list = h("ul", { class: "setting-rows" });
  const foundList = h("ul", { class: "setting-rows" });
  const found = h("div", { hidden: true }, h("h4", {}, "Found on this machine"), foundList);
  const { node: result, say } = createSaid("endpoint-result");

  const refresh = async () => {
    const done = await attempt(async () => list.replaceChildren(...(await api.endpoints()).map((one) => row(one, refresh))), (why) => say(why, "bad"));
    if (!done) list.replaceChildren();
  };
  const look = async () => {
    // When the server cannot tell, there is nothing to say.
    const done = await attempt(async () => {
      const servers = await api.foundServers();
      foundList.replaceChildren(...servers.map((server) => offer(server, add)));
      found.hidden = !servers.length;
    }, () => undefined);
    if (!done) found.hidden = true;
  };
  /** @param {{ base_url: string, api_key?: string, label?: string }} given */
  const add = async (given) => {
    say("Asking the endpoint for its models…");
    const added = await attempt(
      async () => {
        const { text, works } = await addEndpoint(given);
        say(text, works ? "good" : "bad");
      },
      (why) => say(why, "bad"),
    );
    await Promise.all([refresh(), added && look()]);
    return added;
  };

  root.replaceChildren(list, found, addForm(add, say, result));
  void refresh();
  void look();
}

/**
 * @param {(given: { base_url: string }) => Promise<boolean>} add
 * @param {(text: string, tone?: "good" | "bad" | "") => void} say
 * @param {HTMLElement} result
 */
function addForm(add, say, result) {
  const { nodes, address, read } = fields();
  const submit = h("button", { type: "submit", class: "button primary" }, "Add endpoint");
  const test = h("button", { type: "button", class: "button" }, "Test");
  const form = h("form", { id: "endpoint-form" }, h("h4", {}, "Add one"), h("p", { class: "quiet" }, "A model server on this machine, in your network, or a provider. Which protocol it speaks is found out for you."), ...nodes, result, h("div", { class: "actions" }, submit, test));
  /** @param {() => Promise<boolean>} action */
  const once = async (action) => {
    if (submit.disabled || !form.reportValidity()) return;
    for (const button of [submit, test]) button.disabled = true;
    const done = await action();
    for (const button of [submit, test]) button.disabled = false;
    return done;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void once(async () => {
      const added = await add(read());
      if (added) form.reset();
      else address.wrong(result.textContent ?? "");
      return added;
    });
  });
  test.addEventListener("click", () => {
    say("Asking…");
    void once(() => attempt(async () => say(answers(await testEndpoint(read())), "good"), (why) => say(why, "bad")));
  });
  return form;
}

/**
 * @param {Endpoint} endpoint
 * @param {() => Promise<void>} refresh
 */
function row(endpoint, refresh) {
  const { node: said, say } = createSaid();
  const item = state.models.find(({ endpoint_id }) => endpoint_id === endpoint.id);
  const how = item ? `${STATES[item.state] ?? item.state}${item.models.length ? ` · ${many(item.models.length, "model")}` : ""}` : "";
  const where = [endpoint.base_url || "In this program", endpoint.has_key && "with a key", how].filter(Boolean).join(" · ");
  const head = h("span", { class: "row-name" }, h("span", { class: "dot", "data-state": item?.state, "aria-hidden": "true" }), h("strong", { dir: "auto" }, endpoint.label));
  const about = h("div", { class: "row-about" }, head, h("span", { class: "quiet" }, where), !endpoint.removable && h("span", { class: "quiet" }, "From the settings file"), item?.note && item.state !== "ready" && h("span", { class: "quiet" }, item.note), said);
  const check = small("Test", () => void test());
  const node = h("li", {}, about, h("div", { class: "actions" }, check));
  const test = async () => {
    say("Asking…");
    await refreshModels(true);
    const now = state.models.find(({ endpoint_id }) => endpoint_id === endpoint.id);
    say(now?.online ? `It answers, with ${many(now.models.length, "model")}.` : now?.note || "It does not answer.", now?.online ? "good" : "bad");
  };
  const remove = async () => {
    await attempt(() => removeEndpoint(endpoint.id), (why) => say(why, "bad"));
    await refresh();
  };
  if (endpoint.removable) node.lastElementChild?.append(small("Edit", () => edit(node, endpoint, refresh)), confirmed("Remove", "Remove for good", () => void remove()));
  return node;
}

/**
 * A form in place of the row.
 *
 * @param {HTMLElement} node
 * @param {Endpoint} endpoint
 * @param {() => Promise<void>} refresh
 */
function edit(node, endpoint, refresh) {
  const { nodes, address, read } = fields(endpoint);
  const save = h("button", { type: "submit", class: "button primary small" }, "Save");
  const form = h("form", { class: "edit" }, ...nodes, h("div", { class: "actions" }, save, small("Cancel", () => void refresh())));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save.disabled = true;
    void attempt(async () => {
      await changeEndpoint(endpoint.id, read());
      await refreshModels(true);
      tellTabs({ kind: "models" });
      await refresh();
    }, address.wrong).finally(() => (save.disabled = false));
  });
  node.replaceChildren(form);
  address.input.focus();
}

/**
 * @param {FoundServer} server
 * @param {(given: { base_url: string, label: string }) => Promise<boolean>} add
 */
function offer(server, add) {
  const { base_url, label, models } = server;
  const about = h("div", { class: "row-about" }, h("strong", {}, label), h("span", { class: "quiet" }, `${base_url} · ${many(models.length, "model")}`));
  return h("li", {}, about, h("div", { class: "actions" }, small("Add", () => void add({ base_url, label }))));
}
