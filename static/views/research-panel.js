/** The dialog of research: a question to start with, and each job with how far it is, what it found, and its report. */

/** @import { Row } from "../core/dom.js" */
/** @import { ResearchJob, ResearchState } from "../core/types.js" */

import { ApiError, call } from "../core/api.js";
import { h, reconcile, setText, smallButton } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { doing, figuresOf, reportAddress } from "../core/research.js";
import { currentRoute } from "../core/models.js";

/** How often a job that goes on is looked at, while the dialog is open. */
const LOOK_MS = 1500;
const SHOWN = 100;

const field = h("textarea", { class: "field", rows: 2, dir: "auto", required: true, maxlength: 10000, placeholder: "What do you want to know?", "aria-label": "Question" });
const begin = h("button", { type: "submit", class: "button primary" }, "Start");
const form = h("form", { class: "research-form", onsubmit: start }, field, begin);
const said = h("p", { class: "research-said", role: "alert", hidden: true });
const list = h("ul", { class: "research-list", "aria-label": "Research" });
const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
const title = h("h2", { id: "research-title" }, "Research");
const about = h("p", { class: "quiet" }, "Searches and reads the web in rounds, and writes a report that cites its sources. It goes on when you leave.");
const dialog = h("dialog", { id: "research", "aria-labelledby": "research-title" }, h("div", { class: "dialog-body" }, h("header", {}, title, close), about, form, said, list));

/** @type {Map<string, Row<ResearchJob>>} */
const rows = new Map();
let timer = 0;

/**
 * A refusal is said in a line.
 *
 * @param {() => Promise<void>} action
 */
async function attempt(action) {
  try {
    await action();
    tell("");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    tell(error.message);
  }
}

/** @param {string} text */
function tell(text) {
  setText(said, text);
  said.hidden = !text;
}

/** @param {SubmitEvent} event */
function start(event) {
  event.preventDefault();
  const question = field.value.trim();
  if (!question || begin.disabled) return;
  begin.disabled = true;
  const route = currentRoute();
  void attempt(async () => {
    await call("POST", "/api/research/start", { question, endpoint_id: route?.endpoint_id ?? "", model: route?.model ?? "" });
    field.value = "";
    await look();
  }).finally(() => (begin.disabled = false));
}

/** Read the jobs, and again after a while if one goes on. */
async function look() {
  clearTimeout(timer);
  /** @type {ResearchJob[]} */
  const jobs = await call("GET", "/api/research");
  if (!dialog.open) return;
  reconcile(list, rows, jobs, ({ id }) => id, createJob);
  list.dataset.empty = String(!jobs.length);
  if (jobs.some(({ status }) => status === "running")) timer = setTimeout(() => void attempt(look), LOOK_MS);
}

/** @type {Record<string, string>} */
const ENDINGS = { done: "Done", error: "Failed", cancelled: "Cancelled" };

/**
 * @param {ResearchJob} job
 * @returns {Row<ResearchJob>}
 */
function createJob(job) {
  const state = h("p", { class: "quiet", role: "status" });
  const found = h("ol", { class: "source-list" });
  const summary = h("summary", {}, "What was found");
  const details = h("details", { class: "reasoning", ontoggle: () => void fill() }, summary, found);
  const actions = h("div", { class: "actions" });
  const node = h("li", { class: "research-job" }, h("h3", { dir: "auto" }, job.question), state, details, actions);
  let drawn = "";

  async function fill() {
    if (details.open) await attempt(async () => drawFound(found, await call("GET", `/api/research/status/${encodeURIComponent(job.id)}`)));
  }

  return {
    node,
    update(now) {
      const before = job.total_findings;
      job = now;
      node.dataset.status = job.status;
      setText(state, stateOf(job));
      if (drawn !== job.status) actions.replaceChildren(...actionsOf(job));
      if (drawn !== job.status || before !== job.total_findings) void fill();
      drawn = job.status;
    },
  };
}

/** @param {ResearchJob} job */
function stateOf(job) {
  const figures = figuresOf({ pages: job.total_sources ?? 0, findings: job.total_findings ?? 0 });
  if (job.status === "running") return [doing({ phase: job.phase ?? "", round: 1, title: "" }), figures].filter(Boolean).join(" ");
  const when = job.finished_at ? new Date(job.finished_at).toLocaleString() : "";
  return [ENDINGS[job.status], job.message, when].filter(Boolean).join(" · ");
}

/** @param {ResearchJob} job */
function actionsOf({ id, status }) {
  const path = encodeURIComponent(id);
  const act = (/** @type {string} */ method, /** @type {string} */ address) => () => void attempt(async () => {
    await call(method, address, method === "POST" ? {} : undefined);
    await look();
  });
  if (status === "running") return [smallButton("Cancel", act("POST", `/api/research/cancel/${path}`))];
  const remove = smallButton("Delete", act("DELETE", `/api/research/${path}`));
  if (status !== "done") return [remove];
  const open = h("a", { class: "button small primary", href: reportAddress(id), target: "_blank", rel: "noopener" }, "Open the report");
  return [open, h("a", { class: "button small", href: reportAddress(id, "md"), download: "" }, "Markdown"), remove];
}

/**
 * @param {HTMLElement} found
 * @param {ResearchState} state
 */
function drawFound(found, { findings }) {
  const entries = findings.slice(0, SHOWN).map(({ text, source_url, source_title }) => {
    const address = URL.canParse(source_url) ? new URL(source_url) : null;
    const name = source_title || address?.hostname || "";
    const web = address && /^https?:$/.test(address.protocol);
    return h("li", { dir: "auto" }, text, " ", web ? h("a", { href: address.href, target: "_blank", rel: "noopener noreferrer" }, name) : name);
  });
  found.replaceChildren(...(entries.length ? entries : [h("li", { class: "quiet" }, "Nothing so far.")]));
}

dialog.addEventListener("close", () => clearTimeout(timer));
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});
document.body.append(dialog);

/** Show the dialog, with the jobs as they are now. */
export function showResearch() {
  if (!dialog.open) dialog.showModal();
  field.focus();
  void attempt(look);
}
