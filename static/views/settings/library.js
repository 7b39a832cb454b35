/** Settings, library: files and folders that answers can draw on, how far they are read, and a search to try it. */

/** @import { LibraryEntry, LibraryList, LibraryProgress, Passage } from "../../core/types.js" */

import * as api from "../../core/api.js";
import { h, setText, smallButton as small } from "../../core/dom.js";
import { addSource, library, refreshSource, removeSource, searchLibrary } from "../../core/settings.js";
import { attempt, confirmed, createPointer, createSaid, field, many } from "./parts.js";

const WORDS = "Files and folders that answers can draw on. They stay where they are; passages that have to do with a message go to the model with it.";

/** @type {Record<string, string>} */
const STATES = { waiting: "Waiting to be read", indexing: "Being read", ready: "Ready", failed: "Failed" };

/** @type {Record<string, string>} */
const DOTS = { waiting: "loading", indexing: "loading", ready: "ready", failed: "failed" };

/** @type {import("./dialog.js").Draw} */
export function draw(root, [wanted, file]) {
  const { node: said, say } = createSaid();
  const mode = h("p", { class: "quiet", role: "status" });
  const list = h("ul", { class: "setting-rows" });
  const bad = (/** @type {string} */ why) => say(why, "bad");
  const point = createPointer("data-source", wanted, () => bad("This is not in the library any more."));
  const watcher = createWatcher(() => void refresh(), (now) => progress(list, now));

  const refresh = () =>
    attempt(async () => {
      const found = await library();
      setText(mode, summary(found));
      list.replaceChildren(...found.items.map((entry) => row(entry, act, entry.id === wanted && entry.kind === "folder" ? file : "")));
      point(list);
      if (found.items.some(({ state }) => state === "waiting" || state === "indexing")) watcher.start();
    }, bad);
  /** @param {() => Promise<unknown>} action */
  const act = async (action) => {
    say("");
    await attempt(async () => void (await action()), bad);
    await refresh();
  };

  root.replaceChildren(h("p", { class: "quiet" }, WORDS), mode, addFolder(refresh), addFiles(root, act, say), said, list, tryOut());
  void refresh();
  return watcher.stop;
}

/** @param {LibraryList} found */
function summary({ mode, note, documents, chunks }) {
  const size = `${many(documents, "file")}, ${many(chunks, "passage")}.`;
  return mode === "hybrid" ? `${size} Searched by words and by meaning.` : mode === "off" ? note : `${size} ${note}`;
}

/**
 * Hears how far the reading is, as long as there is something to read.
 *
 * @param {() => void} onEnd
 * @param {(now: LibraryProgress) => void} onProgress
 */
function createWatcher(onEnd, onProgress) {
  /** @type {EventSource | null} */
  let source = null;
  const stop = () => {
    source?.close();
    source = null;
  };
  const start = () => {
    if (source) return;
    source = new EventSource("/api/library/progress");
    source.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "progress") return onProgress(frame);
      stop();
      onEnd();
    });
    source.addEventListener("error", stop); // the server is gone; the next look tells
  };
  return { start, stop };
}

/**
 * @param {HTMLElement} list
 * @param {LibraryProgress} now
 */
function progress(list, now) {
  const line = now.source_id && list.querySelector(`[data-source="${CSS.escape(now.source_id)}"] .progress`);
  const bar = line && line.querySelector("progress");
  if (!(line instanceof HTMLElement) || !bar) return;
  line.hidden = false;
  if (now.total) Object.assign(bar, { max: now.total, value: now.done });
  const text = line.querySelector("span");
  if (text) setText(text, `${now.done} of ${now.total}${now.file ? ` · ${now.file}` : ""}`);
}

/**
 * @param {LibraryEntry} entry
 * @param {(action: () => Promise<unknown>) => Promise<void>} act
 * @param {string} [file]  what was found in it
 */
function row(entry, act, file = "") {
  const { id, name, path, state, note, documents, chunks, failed, empty, problems } = entry;
  const counts = [many(documents, "file"), many(chunks, "passage"), failed && `${failed} could not be read`, empty && `${empty} without text`];
  const head = h("span", { class: "row-name" }, h("span", { class: "dot", "data-state": DOTS[state], "aria-hidden": "true" }), h("strong", { dir: "auto" }, name), h("span", { class: "quiet" }, STATES[state] ?? state));
  const bar = h("div", { class: "progress", hidden: state !== "indexing" }, h("progress", { "aria-label": `Reading ${name}` }), h("span", { class: "quiet", dir: "auto" }));
  const unread = problems.length > 0 && h("details", {}, h("summary", {}, `${many(failed, "file")} could not be read`), h("ul", {}, ...problems.map((one) => h("li", {}, h("bdi", {}, one.path), `: ${one.note}`))));
  const about = h("div", { class: "row-about" }, head, path && h("span", { class: "quiet", dir: "auto" }, path), h("span", { class: "quiet" }, counts.filter(Boolean).join(" · ")), file && h("span", { class: "found-file" }, "Found in it: ", h("bdi", {}, file)), note && h("span", { class: "quiet" }, note), bar, unread);
  return h("li", { "data-source": id }, about, h("div", { class: "actions" }, small("Refresh", () => void act(() => refreshSource(id))), confirmed("Remove", "Take it out", () => void act(() => removeSource(id)))));
}

/** @param {() => Promise<boolean>} refresh */
function addFolder(refresh) {
  const path = field("Add a file or folder of this machine", h("input", { type: "text", required: true, placeholder: "/home/you/notes", autocomplete: "off", autocapitalize: "off", spellcheck: false, dir: "auto", class: "code" }), "its whole path");
  const submit = h("button", { type: "submit", class: "button primary" }, "Add");
  const form = h("form", { id: "library-form" }, path.node, h("div", { class: "actions" }, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const done = await attempt(async () => void (await addSource({ path: path.input.value.trim() })), path.wrong);
    submit.disabled = false;
    if (!done) return;
    form.reset();
    await refresh();
  });
  return form;
}

/**
 * @param {HTMLElement} root  where files may be dropped
 * @param {(action: () => Promise<unknown>) => Promise<void>} act
 * @param {(text: string, tone?: "good" | "bad" | "") => void} say
 */
function addFiles(root, act, say) {
  const chooser = h("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-label": "Files for the library" });
  const send = (/** @type {File[]} */ files) =>
    act(async () => {
      for (const file of files) {
        const told = (/** @type {number} */ sent) => say(`${file.name}: ${sent < 1 ? `sending, ${Math.floor(sent * 100)} %` : "reading…"}`);
        const { files: kept } = await api.upload(file, told, new AbortController().signal);
        for (const { id } of kept) await addSource({ upload_id: id });
      }
      say(`${many(files.length, "file was", "files were")} added.`, "good");
    });
  chooser.addEventListener("change", () => {
    void send([...(chooser.files ?? [])]);
    chooser.value = "";
  });
  const box = h("div", { class: "drop-here" }, h("p", {}, "Drop files here, or "), h("button", { type: "button", class: "button small", onclick: () => chooser.click() }, "Choose files"), chooser);
  const over = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    box.dataset.over = "true";
  };
  root.addEventListener("dragover", over);
  root.addEventListener("dragleave", () => delete box.dataset.over);
  root.addEventListener("drop", (event) => {
    delete box.dataset.over;
    const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
    const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory).flatMap((item) => item.getAsFile() ?? []);
    event.preventDefault();
    if (files.length) void send(files);
    else if (items.length) say("Add a folder by its path.", "bad");
  });
  return box;
}

function tryOut() {
  const query = field("Try a search", h("input", { type: "search", placeholder: "What is to be found?", autocomplete: "off", dir: "auto" }));
  const { node: said, say } = createSaid();
  const list = h("ol", { class: "source-list" });
  const form = h("form", { id: "library-search" }, h("h4", {}, "Try the search"), query.node, h("div", { class: "actions" }, h("button", { type: "submit", class: "button" }, "Search")), said, list);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say("Searching…");
    void attempt(async () => {
      const { items, note } = await searchLibrary(query.input.value);
      list.replaceChildren(...items.map(passage));
      say([items.length ? many(items.length, "passage") : "Nothing was found.", note].filter(Boolean).join(" "));
    }, query.wrong);
  });
  return form;
}

/** @param {Passage} found */
function passage({ filename, heading, page, snippet, similarity }) {
  const where = [heading, page !== null && `page ${page}`, `${Math.round(similarity * 100)} % near`].filter(Boolean).join(" · ");
  return h("li", {}, h("span", { class: "source-head" }, h("bdi", {}, filename), h("span", { class: "quiet" }, where)), h("p", { class: "quiet", dir: "auto" }, snippet));
}
