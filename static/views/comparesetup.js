/** Choosing what to compare: two to four models of the picker's list, and whether their names are hidden. */

/** @import { ModelItem, Route } from "../core/types.js" */

import { h, setText, smallButton } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { currentRoute } from "../core/models.js";
import { state } from "../core/state.js";

const LEAST = 2;
const MOST = 4;

/** @typedef {{ key: string, route: Route, item: ModelItem }} Choice */

/** @returns {Choice[]} */
const choices = () =>
  state.models.filter(({ online }) => online).flatMap((item) =>
    item.models.map(({ id }) => ({ key: `${item.endpoint_id} ${id}`, route: { endpoint_id: item.endpoint_id, model: id }, item })),
  );

/** @param {() => void} onChange */
export function createSetup(onChange) {
  /** The keys of the models in their places; empty where none is chosen. @type {string[]} */
  let chosen = [];
  let drawn = "";
  const slots = h("div", { class: "compare-slots" });
  const add = smallButton("Add a model", () => change([...chosen, ""]));
  const box = h("input", { type: "checkbox" });
  const blind = h("label", { class: "compare-blind" }, box, h("span", {}, h("strong", {}, "Blind"), h("span", { class: "quiet" }, "The models are shuffled, and you see their names after your vote.")));
  const note = h("p", { class: "quiet", role: "status" });
  const node = h("div", { class: "compare-setup" }, h("h2", {}, "Ask several models at once"), slots, add, blind, note);

  /** @param {string[]} next */
  function change(next) {
    chosen = next;
    fill(choices());
    onChange();
  }

  /** Fill the places that are free with what comes first: the chosen model, then others of the list. @param {Choice[]} known */
  function fill(known) {
    const route = currentRoute();
    const first = known.find(({ route: one }) => one.endpoint_id === route?.endpoint_id && one.model === route.model);
    const order = [first, ...known].flatMap((one) => one?.key ?? []);
    chosen = chosen.map((key) => (known.some((one) => one.key === key) ? key : ""));
    while (chosen.length < LEAST) chosen.push("");
    for (const [place, key] of chosen.entries()) if (!key) chosen[place] = order.find((one) => !chosen.includes(one)) ?? "";
  }

  /** @param {string} key @param {number} place @param {Choice[]} known */
  function slot(key, place, known) {
    const groups = state.models.map((item) => {
      const options = known.filter((one) => one.item === item).map((one) => option(one, key));
      return options.length ? h("optgroup", { label: item.endpoint_label }, ...options) : null;
    });
    const select = h("select", { class: "field", onchange: () => change(chosen.with(place, select.value)) }, ...groups);
    const label = `Take model ${place + 1} out`;
    const remove = h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: () => change(chosen.toSpliced(place, 1)) }, icon("close"));
    return h("div", { class: "compare-slot" }, h("label", {}, h("span", { class: "quiet" }, `Model ${place + 1}`), select), chosen.length > LEAST && remove);
  }

  /** @param {Choice} one @param {string} key */
  const option = (one, key) => h("option", { value: one.key, selected: one.key === key, disabled: one.key !== key && chosen.includes(one.key) }, one.route.model);

  const ready = () => chosen.length >= LEAST && chosen.every(Boolean);

  return {
    node,
    ready,
    /** @returns {{ routes: Route[], blind: boolean }} */
    choice() {
      const known = choices();
      return { routes: chosen.flatMap((key) => known.find((one) => one.key === key)?.route ?? []), blind: box.checked };
    },
    draw() {
      const known = choices();
      fill(known);
      const now = JSON.stringify([chosen, known.map(({ key }) => key)]);
      if (now !== drawn) {
        const at = [...slots.children].findIndex((child) => child.contains(document.activeElement));
        slots.replaceChildren(...(known.length < LEAST ? [] : chosen.map((key, place) => slot(key, place, known))));
        if (at >= 0) slots.children[Math.min(at, slots.children.length - 1)]?.querySelector("select")?.focus();
      }
      drawn = now;
      blind.hidden = known.length < LEAST;
      add.hidden = chosen.length >= Math.min(MOST, known.length);
      setText(note, noteOf(known, chosen));
    },
  };
}

/** @param {Choice[]} known @param {string[]} chosen */
function noteOf(known, chosen) {
  if (!state.modelsKnown) return "Looking for models…";
  if (known.length < LEAST) return "A comparison needs two models. Add an endpoint, or install another embedded model.";
  const local = known.filter(({ key, item }) => item.kind === "local" && chosen.includes(key));
  return local.length > 1 ? "The embedded models answer one after the other: the second waits for the first." : "";
}
