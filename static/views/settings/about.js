/** Settings, about: which version this is, and how the server is. */

import { h } from "../../core/dom.js";
import { health } from "../../core/settings.js";
import { state } from "../../core/state.js";
import { duration } from "../../core/words.js";
import { attempt, createSaid, many } from "./parts.js";

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  const { node: said, say } = createSaid();
  const facts = h("dl", { class: "facts" });
  const pair = (/** @type {string} */ name, /** @type {string} */ value) => facts.append(h("dt", {}, name), h("dd", {}, value));
  root.replaceChildren(h("p", {}, "Odysseus is a workspace for language models that runs on your own machine. What you write stays here, but for what you send to an endpoint elsewhere."), facts, said, h("p", {}, h("a", { href: "/docs", target: "_blank", rel: "noopener" }, "The server's calls, for programs")));
  void attempt(async () => {
    const { status, version, runs, uptime } = await health();
    const online = state.models.filter((item) => item.online).length;
    pair("Version", version);
    pair("Server", status === "ok" ? `Running for ${uptime < 3600 ? duration(uptime) : `${Math.floor(uptime / 3600)} h`}` : status);
    pair("Answers under way", String(runs));
    pair("Endpoints", `${online} of ${many(state.models.length, "endpoint")} can be asked`);
    pair("Licence", "MIT");
  }, (why) => say(why, "bad"));
}
