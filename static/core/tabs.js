/** Tabs of one browser tell each other that something changed; what it is now, each asks the server. */

/** @typedef {{ kind: "run", session: string } | { kind: "sessions" } | { kind: "models" } | { kind: "document", id: string }} News */

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("odysseus") : null;

/** @param {News} news */
export function tellTabs(news) {
  channel?.postMessage(news);
}

/** @param {(news: News) => void} listener */
export function hearTabs(listener) {
  channel?.addEventListener("message", (event) => listener(event.data));
}
