/** Files as chips: those that wait in the composer, and those that went with a question. */

/** @import { Row } from "../core/dom.js" */
/** @import { Attachment, Message, Upload } from "../core/types.js" */

import { h, reconcile, setText, smallButton as small } from "../core/dom.js";
import { aboutFile, addressOfFile, isPicture } from "../core/given.js";
import { icon } from "../core/icons.js";
import { state } from "../core/state.js";
import { bytes } from "../core/words.js";

/**
 * @param {Upload | null} upload
 * @returns {HTMLElement | SVGSVGElement}
 */
function lookOf(upload) {
  const url = upload && isPicture(upload) ? addressOfFile(upload) : "";
  if (!upload || !url) return icon("file");
  const image = h("img", { src: `${url}?thumb=128`, alt: upload.name, loading: "lazy" });
  image.addEventListener("error", () => image.replaceWith(icon("file"))); // its bytes may be gone
  return image;
}

/**
 * A file that waits in the composer.
 *
 * @param {Attachment} attachment
 * @param {(attachment: Attachment) => void} onRemove
 * @param {(attachment: Attachment) => void} onRetry
 * @returns {Row<Attachment>}
 */
export function createWaiting(attachment, onRemove, onRetry) {
  const { name } = attachment;
  const look = h("span", { class: "file-look" }, icon("file"));
  const about = h("span", { class: "file-about", dir: "auto" });
  const bar = h("progress", { max: 1, "aria-label": `Sending ${name}` });
  const retry = small("Try again", () => onRetry(attachment));
  const remove = h("button", { type: "button", class: "icon-button", "aria-label": `Remove ${name}`, title: "Remove", onclick: () => onRemove(attachment) }, icon("close"));
  const text = h("span", { class: "file-text" }, h("strong", { dir: "auto", title: name }, name), about, bar);
  const node = h("li", { class: "file" }, look, text, retry, remove);
  let drawn = "";
  return {
    node,
    update(now) {
      node.dataset.state = now.state;
      bar.hidden = now.state !== "sending";
      retry.hidden = now.state !== "failed";
      if (now.sent < 1) bar.value = now.sent;
      else bar.removeAttribute("value");
      setText(about, waitingText(now));
      if (drawn === now.state) return;
      drawn = now.state;
      look.replaceChildren(lookOf(now.upload));
    },
  };
}

/** @param {Attachment} attachment */
function waitingText({ state, size, sent, problem, upload }) {
  if (state === "failed") return problem;
  if (state === "ready" && upload) return aboutFile(upload);
  return bytes(size) + (sent < 1 ? ` · sending, ${Math.floor(sent * 100)} %` : " · reading…");
}

/** The files under a question. */
export function createFiles() {
  const node = h("ul", { class: "files sent", "aria-label": "Files of this message", hidden: true });
  /** @type {Map<string, Row<Upload>>} */
  const rows = new Map();
  return {
    node,
    /** @param {Message} message */
    draw(message) {
      const files = filesOf(message);
      node.hidden = !files.length;
      reconcile(node, rows, files, ({ id }) => id, createSent);
    },
  };
}

/**
 * A question's files, with what the answer's run tells of them: what was really given.
 *
 * @param {Message} message
 */
function filesOf({ given, key }) {
  if (!given.files.length) return [];
  const { messages } = state.chat;
  const answer = messages[messages.findIndex((one) => one.key === key) + 1];
  const told = new Map(answer?.role === "assistant" ? answer.given.files.map((file) => [file.id, file]) : []);
  const unique = new Map(given.files.map((file) => [file.id, { ...file, ...told.get(file.id) }]));
  return [...unique.values()];
}

/**
 * @param {Upload} file
 * @returns {Row<Upload>}
 */
function createSent(file) {
  const about = h("span", { class: "file-about", dir: "auto" });
  const url = addressOfFile(file);
  const name = h("strong", { dir: "auto", title: file.name }, file.name);
  const link = url && h("a", { href: url, ...(isPicture(file) ? { target: "_blank", rel: "noopener noreferrer" } : { download: file.name }) }, name);
  const node = h("li", { class: "file" }, h("span", { class: "file-look" }, lookOf(file)), h("span", { class: "file-text" }, link || name, about));
  return { node, update: (now) => setText(about, aboutFile(now)) };
}
