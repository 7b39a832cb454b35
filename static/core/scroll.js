/**
 * Keeps a scroll area at its end while the reader is there. Only the reader's own movement decides: content that grows
 * neither starts nor stops the following.
 */

/** How near to the end a downward movement must come to be taken for "I want to follow". */
const NEAR = 32;

export class ScrollKeeper {
  #area;
  #last = 0;
  #following = true;
  /** @type {(following: boolean) => void} */
  #onChange;

  /**
   * @param {HTMLElement} area  what scrolls
   * @param {HTMLElement} content  what grows in it
   * @param {(following: boolean) => void} onChange
   */
  constructor(area, content, onChange) {
    this.#area = area;
    this.#onChange = onChange;
    const grown = new ResizeObserver(() => this.#following && this.toEnd());
    grown.observe(area);
    grown.observe(content);
    area.addEventListener("wheel", (event) => event.deltaY < 0 && this.#upward(), { passive: true });
    area.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#watchTouch();
    this.#watchKeys();
  }

  get following() {
    return this.#following;
  }

  /** Go to the end and follow from now on. */
  toEnd() {
    this.#area.scrollTop = this.#area.scrollHeight;
    this.#last = this.#area.scrollTop;
    this.#follow(true);
  }

  /** Stay where the reader is. */
  release() {
    this.#follow(false);
  }

  /**
   * Change what is above the reader without moving what is in view.
   *
   * @param {() => void} change
   */
  keepPlace(change) {
    const fromEnd = this.#area.scrollHeight - this.#area.scrollTop;
    change();
    this.#area.scrollTop = this.#area.scrollHeight - fromEnd;
    this.#last = this.#area.scrollTop;
  }

  #fromEnd() {
    return this.#area.scrollHeight - this.#area.clientHeight - this.#area.scrollTop;
  }

  /** @param {boolean} following */
  #follow(following) {
    if (this.#following === following) return;
    this.#following = following;
    this.#onChange(following);
  }

  /** The reader moves up: let go before the next growth can pull back. */
  #upward() {
    if (this.#area.scrollTop > 0) this.#follow(false);
  }

  /** A movement that was not made here: scroll bar, keys, touch, find in page, focus. */
  #scrolled() {
    const top = this.#area.scrollTop;
    const moved = top - this.#last;
    this.#last = top;
    if (moved < -1 && this.#fromEnd() > 1) this.#follow(false);
    else if (moved > 0 && this.#fromEnd() <= NEAR) this.#follow(true);
  }

  #watchTouch() {
    let y = 0;
    const place = (/** @type {TouchEvent} */ event) => event.touches[0]?.clientY ?? 0;
    this.#area.addEventListener("touchstart", (event) => (y = place(event)), { passive: true });
    this.#area.addEventListener("touchmove", (event) => place(event) > y + 2 && this.#upward(), { passive: true });
  }

  #watchKeys() {
    this.#area.addEventListener("keydown", (event) => {
      const up = ["PageUp", "ArrowUp", "Home"].includes(event.key) || (event.key === " " && event.shiftKey);
      if (up) this.#upward();
    });
  }
}
