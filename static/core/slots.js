/**
 * How many tabs stream at once. A browser opens six connections to a server over HTTP/1.1; streams take five at most, so
 * that a stop or a page load always finds one. The tab that was used last wins.
 */

const SLOTS = 5;

/** @typedef {{ release: () => void, lost: Promise<void> }} Slot */

/** @type {(index: number) => string} */
const nameOf = (index) => `odysseus-stream-${index}`;

/**
 * Take a free slot; when there is none, take it from another tab (`steal`) or wait.
 * Without the Web Locks API (a page that is not on this machine and not on HTTPS) there is always one.
 *
 * @param {boolean} steal
 * @param {AbortSignal} signal
 * @returns {Promise<Slot>}
 */
export async function takeSlot(steal, signal) {
  if (!navigator.locks) return { release: () => undefined, lost: new Promise(() => undefined) };
  for (let index = 0; index < SLOTS; index += 1) {
    const slot = await hold(nameOf(index), { ifAvailable: true });
    if (slot) return slot;
  }
  const name = nameOf(Math.floor(Math.random() * SLOTS));
  const slot = await hold(name, steal ? { steal: true } : { signal });
  if (!slot) throw new Error("A lock that was waited for was not given.");
  return slot;
}

/**
 * @param {string} name
 * @param {LockOptions} options
 * @returns {Promise<Slot | null>}
 */
function hold(name, options) {
  return new Promise((resolve, reject) => {
    /** @type {() => void} */
    let release = () => undefined;
    /** @type {() => void} */
    let lose = () => undefined;
    const held = new Promise((/** @type {(value?: undefined) => void} */ done) => (release = done));
    const lost = new Promise((/** @type {(value?: undefined) => void} */ done) => (lose = done));
    navigator.locks
      .request(name, options, (lock) => {
        resolve(lock ? { release, lost } : null);
        return lock ? held : undefined;
      })
      .catch((error) => {
        lose();
        reject(error);
      });
  });
}
