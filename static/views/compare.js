/** Models side by side, in the chat's place: the panes' heads, the turns with an answer for each pane, the vote, the composer. */

/** @import { Row } from "../core/dom.js" */
/** @import { Attachment } from "../core/types.js" */
/** @import { Turn } from "../core/compare.js" */

import { ask, compare, isAnswering, onCompareChange, openComparison, openPanes } from "../core/compare.js";
import { addFiles, removeFile, waiting } from "../core/comparefiles.js";
import { byId, h, reconcile, setText } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { loadStyle } from "../core/lazy.js";
import { refreshModels } from "../core/models.js";
import { COMPARE, addressOf } from "../core/route.js";
import { ScrollKeeper } from "../core/scroll.js";
import { watch } from "../core/state.js";
import { attachmentsProblem, begin } from "../core/uploads.js";
import { createClosed, createHeads } from "./comparehead.js";
import { createList } from "./comparelist.js";
import { createSetup } from "./comparesetup.js";
import { createVote } from "./comparevote.js";
import { createWaiting } from "./files.js";
import { createMessage } from "./message.js";

/** An answer is not asked again alone, edited or deleted here. */
const none = () => undefined;
const deeds = { again: none, resend: async () => false, show: none, fork: none, remove: none, decide: none, answer: none, carryOut: async () => false };

const setup = createSetup(draw);
const list = createList();
const heads = createHeads((pane) => (section.dataset.shown = pane));
const turns = h("div", { class: "compare-turns", role: "log", "aria-label": "Answers" });
const problem = h("p", { class: "compare-problem", role: "alert", hidden: true });
const beginning = h("div", { class: "compare-begin" }, setup.node, list.node);
const closed = createClosed(() => area.focus());
const content = h("div", { class: "compare-content" }, beginning, heads.node, closed.node, turns);
const area = h("div", { class: "compare-area", tabindex: 0, role: "region", "aria-label": "Comparison" }, content);
const ballot = createVote();
const field = h("textarea", { class: "field", rows: 1, placeholder: "Ask all of them", "aria-label": "Question to all models", dir: "auto", maxlength: 50000, "data-files": "" });
const chooser = h("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-label": "Files for all models" });
const attach = h("button", { type: "button", class: "icon-button", "aria-label": "Attach files", title: "Attach files", onclick: () => chooser.click() }, icon("attach"));
const send = h("button", { type: "submit", class: "button primary" }, "Ask");
const files = h("ul", { class: "files", "aria-label": "Files for all models", hidden: true });
const form = h("form", { class: "compare-form" }, files, attach, chooser, field, send);
const dock = h("div", { class: "compare-dock" }, ballot.node, problem, form);
const section = h("section", { class: "place compare", "aria-label": "Compare models" }, area, dock);
const keeper = new ScrollKeeper(area, content, none);

/** @type {Map<string, Row<Turn>>} */
const rows = new Map();
/** @type {Map<string, Row<Attachment>>} */
const fileRows = new Map();
let frame = 0;

/**
 * @param {Turn} first
 * @returns {Row<Turn>}
 */
function createTurn(first) {
  const question = createMessage(first.question, deeds, none);
  const cells = h("div", { class: "compare-grid" });
  /** @type {Map<string, { node: HTMLElement, key: string, row: Row<import("../core/types.js").Message> | null }>} */
  const shown = new Map();
  const release = () => keeper.release();
  return {
    node: h("section", { class: "compare-turn" }, question.node, cells),
    update({ question: said, answers }) {
      question.update(said);
      const panes = openPanes(compare.view).map(({ pane }) => pane);
      for (const pane of panes) {
        const cell = shown.get(pane) ?? { node: h("div", { class: "compare-cell", "data-pane": pane }), key: "", row: null };
        shown.set(pane, cell);
        const message = answers.get(pane);
        if (!message) cell.node.replaceChildren(h("p", { class: "quiet" }, "Not asked."));
        else if (cell.key !== message.key) {
          cell.row = createMessage(message, deeds, release);
          cell.key = message.key;
          cell.node.replaceChildren(cell.row.node);
        }
        if (message) cell.row?.update(message);
      }
      const nodes = panes.flatMap((pane) => shown.get(pane)?.node ?? []);
      if (nodes.length !== cells.childElementCount) cells.replaceChildren(...nodes);
    },
  };
}

/** At most once a frame. */
function draw() {
  frame ||= requestAnimationFrame(drawNow);
}

function drawNow() {
  frame = 0;
  const { view } = compare;
  if (!document.body.dataset.place) return;
  const { comparison, phase } = view;
  const panes = openPanes(view);
  const name = comparison?.question || "Compare models";
  setText(byId("title", HTMLElement), name);
  document.title = `${name} · Odysseus`;
  section.dataset.count = String(panes.length);
  if (!panes.some(({ pane }) => pane === section.dataset.shown)) section.dataset.shown = panes[0]?.pane ?? "";
  beginning.hidden = phase !== "choosing";
  if (phase === "choosing") {
    setup.draw();
    list.draw(view);
  }
  heads.draw(view, section.dataset.shown ?? "");
  closed.draw(view);
  reconcile(turns, rows, view.turns, ({ key }) => key, createTurn);
  turns.setAttribute("aria-busy", String(isAnswering(view)));
  ballot.draw(view);
  problem.hidden = !view.problem;
  setText(problem, view.problem);
  form.hidden = phase === "failed" || (panes.length === 0 && phase === "open");
  files.hidden = !waiting.list.length;
  reconcile(files, fileRows, waiting.list, ({ key }) => key, (file) => createWaiting(file, removed, (one) => void begin(one, draw)));
  send.disabled = !canAsk();
  send.title = attachmentsProblem(waiting.list);
}

/** @param {Attachment} file */
function removed(file) {
  removeFile(file, draw);
  field.focus();
}

/** Whether the question in the field could be sent now. */
function canAsk() {
  const { view } = compare;
  const ready = view.phase === "open" || (view.phase === "choosing" && setup.ready());
  return ready && !view.sending && !isAnswering(view) && field.value.trim() !== "" && !attachmentsProblem(waiting.list);
}

/** Grow with the text; the style sheet sets the limit. */
function grow() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}

/** @param {Event} event */
async function submit(event) {
  event.preventDefault();
  if (!canAsk()) return;
  const sent = waiting.list;
  if (!(await ask(field.value, setup.choice(), sent.flatMap(({ upload }) => upload ?? [])))) return;
  waiting.list = waiting.list.filter((file) => !sent.includes(file));
  field.value = "";
  grow();
  const { id } = compare.view;
  const place = addressOf(COMPARE, id);
  if (location.hash.split("/")[0] === `#${COMPARE}` && location.hash !== place) history.replaceState(null, "", place);
  keeper.toEnd();
}

/** The choice of models is read from its top. */
function toStart() {
  keeper.release();
  area.scrollTop = 0;
}

function mount() {
  byId("main", HTMLElement).append(section);
  onCompareChange(draw);
  watch(["models"], draw);
  field.addEventListener("input", () => {
    grow();
    draw();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => void submit(event));
  chooser.addEventListener("change", () => {
    addFiles([...(chooser.files ?? [])], draw);
    chooser.value = "";
    field.focus();
  });
  byId("main", HTMLElement).addEventListener("files", (event) => {
    if (!section.checkVisibility() || !(event instanceof CustomEvent)) return;
    event.preventDefault();
    addFiles(event.detail, draw);
  });
}

/**
 * Show a comparison in the chat's place, or with no id the choice of models.
 *
 * @param {string} id
 */
export async function showCompare(id) {
  await loadStyle("compare");
  if (!section.isConnected) mount();
  draw();
  if (!id) void refreshModels();
  await openComparison(id);
  if (!id) toStart();
  if (matchMedia("(hover: hover)").matches) field.focus();
}
