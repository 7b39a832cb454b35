/** Settings, memories: what is remembered beyond a chat. Proposed ones to keep or discard, and finding, changing, adding. */

/** @import { Memory } from "../../core/types.js" */

import { h, smallButton as small } from "../../core/dom.js";
import { addMemory, changeMemory, deleteMemory, memories } from "../../core/settings.js";
import { attempt, confirmed, createPointer, createSaid, field } from "./parts.js";

const WAIT_MS = 150;
const LONGEST = 1000;
const WORDS = "Facts about you that answers in any chat may draw on. They are kept on this machine and never shared: only the model that you ask is given those it needs.";

/** @type {import("./dialog.js").Draw} */
export function draw(root, [wanted]) {
  const { node: said, say } = createSaid();
  const proposed = h("div", {});
  const kept = h("div", {});
  const search = h("input", { type: "search", class: "field", placeholder: "Search memories", "aria-label": "Search memories", autocomplete: "off" });
  let asked = new AbortController();
  let timer = 0;
  const point = createPointer("data-memory", wanted, () => say("This memory is not there any more.", "bad"));

  const refresh = async () => {
    asked.abort();
    const { signal } = (asked = new AbortController());
    try {
      const found = await memories(search.value.trim(), signal);
      const waiting = found.filter(({ state }) => state === "proposed");
      const others = found.filter(({ state }) => state === "kept");
      proposed.replaceChildren(...(waiting.length ? [h("h4", {}, "Proposed"), h("p", { class: "quiet" }, "Used for nothing until you keep them."), rows(waiting, proposal)] : []));
      const none = search.value.trim() ? "No memory has these words." : "Nothing is remembered yet.";
      kept.replaceChildren(h("h4", {}, "Kept"), others.length ? rows(others, row) : h("p", { class: "quiet" }, none));
      point(root);
    } catch (error) {
      if (!signal.aborted) await attempt(() => Promise.reject(error), (why) => say(why, "bad"));
    }
  };
  /** @type {(memory: Memory) => Desk} */
  const deskOf = (memory) => ({
    change: (changes) => act(() => changeMemory(memory.id, changes)),
    remove: () => act(() => deleteMemory(memory.id)),
  });
  /** @param {() => Promise<unknown>} action */
  const act = async (action) => {
    say("");
    let problem = "";
    await attempt(async () => void (await action()), (why) => (problem = why));
    await refresh();
    if (problem) say(problem, "bad");
    return problem;
  };
  /** @type {(some: Memory[], make: (memory: Memory, desk: Desk) => HTMLElement) => HTMLElement} */
  const rows = (some, make) => h("ul", { class: "setting-rows" }, ...some.map((memory) => make(memory, deskOf(memory))));

  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), WAIT_MS);
  });
  root.replaceChildren(h("p", { class: "quiet" }, WORDS), addForm(refresh), search, said, proposed, kept);
  void refresh();
  return () => {
    clearTimeout(timer);
    asked.abort();
  };
}

/** What can be done with a memory; each resolves with why it was refused, or empty. @typedef {{ change: (changes: Partial<Memory>) => Promise<string>, remove: () => Promise<string> }} Desk */

/** @param {() => Promise<void>} refresh */
function addForm(refresh) {
  const text = field("Remember this", h("textarea", { rows: 2, maxlength: LONGEST, dir: "auto" }), "one fact");
  const pin = h("input", { type: "checkbox" });
  const submit = h("button", { type: "submit", class: "button primary" }, "Remember");
  const form = h("form", { id: "memory-form" }, text.node, h("label", { class: "check" }, pin, "Pinned: in every prompt"), h("div", { class: "actions" }, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const done = await attempt(async () => void (await addMemory({ text: text.input.value, pinned: pin.checked })), text.wrong);
    submit.disabled = false;
    if (!done) return;
    form.reset();
    text.input.focus();
    await refresh();
  });
  return form;
}

/** @param {Memory} memory */
const about = ({ text, category, outside, pinned }) =>
  h("div", { class: "row-about" }, h("span", { dir: "auto" }, text), h("span", { class: "quiet" }, [pinned && "pinned", category, outside && "from a chat with outside text"].filter(Boolean).join(" · ")));

/** @type {(memory: Memory, desk: Desk) => HTMLElement} */
function row(memory, desk) {
  const pin = h("button", { type: "button", class: "button small", "aria-pressed": String(memory.pinned), onclick: () => void desk.change({ pinned: !memory.pinned }) }, memory.pinned ? "Unpin" : "Pin");
  const edit = small("Edit", () => {
    const text = field("Memory", h("textarea", { rows: 2, maxlength: LONGEST, dir: "auto" }));
    text.input.value = memory.text;
    const form = h("form", { class: "edit" }, text.node, h("div", { class: "actions" }, h("button", { type: "submit", class: "button primary small" }, "Save"), small("Cancel", () => node.replaceWith(row(memory, desk)))));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = text.input.value.trim() ? await desk.change({ text: text.input.value }) : "It may not be empty.";
      if (problem) text.wrong(problem);
    });
    node.replaceChildren(form);
    text.input.focus();
  });
  const node = h("li", { "data-memory": memory.id }, about(memory), h("div", { class: "actions" }, pin, edit, confirmed("Delete", "Delete for good", () => void desk.remove())));
  return node;
}

/** @type {(memory: Memory, desk: Desk) => HTMLElement} */
const proposal = (memory, desk) => h("li", { "data-memory": memory.id }, about(memory), h("div", { class: "actions" }, small("Keep it", () => void desk.change({ state: "kept" })), small("Discard", () => void desk.remove(), "danger")));
