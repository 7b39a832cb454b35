/**
 * The service worker: keeps the page's files of one release, so that the page opens while the server does not run. Calls and
 * streams never pass through it. The server writes `self.release` above this text; another release is another worker.
 */

const worker = /** @type {any} */ (self); // its types would hide those of the page
/** @type {{ version: string, page: string, files: string[] }} */
const release = worker.release;

const PREFIX = "page-";
const CACHE = PREFIX + release.version;

/** So many releases stay: a tab of the last one can still load a view that it has not opened yet. */
const RELEASES = 2;

async function keep() {
  const cache = await caches.open(CACHE);
  await cache.addAll(release.files);
  await worker.skipWaiting();
}

async function tidy() {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(others.slice(0, Math.max(0, others.length + 1 - RELEASES)).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/** The page of the server that runs; the one that is kept when none does. @param {Request} request */
async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(release.page, { ignoreVary: true });
    if (!kept) throw error;
    return kept;
  }
}

/** A file's address holds its release, so what is kept is what it is. @param {Request} request */
const file = async (request) => (await caches.match(request, { ignoreVary: true })) ?? fetch(request);

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(keep()));
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(tidy()));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && pathname === "/" && !search) event.respondWith(page(request));
  else if (pathname.startsWith("/static/v-")) event.respondWith(file(request));
});
