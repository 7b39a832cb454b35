/** A panel that a button opens: Escape, a click elsewhere and leaving it with Tab close it. */

/**
 * @param {HTMLElement} root  holds the button and the panel
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} panel
 * @param {() => void} onOpen  fills it and gives the focus
 */
export function createPanel(root, button, panel, onOpen) {
  const open = () => {
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    onOpen();
  };
  /** @param {boolean} giveFocusBack */
  const close = (giveFocusBack) => {
    if (panel.hidden) return;
    panel.hidden = true;
    button.setAttribute("aria-expanded", "false");
    if (giveFocusBack) button.focus();
  };
  button.addEventListener("click", () => (panel.hidden ? open() : close(true)));
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || panel.hidden) return;
      event.preventDefault(); // only the panel closes; an answer goes on
      close(true);
    },
    true,
  );
  root.addEventListener("focusout", (event) => {
    // A list that is drawn again drops its focused button; that is no reason to close.
    if (event.relatedTarget instanceof Node && !root.contains(event.relatedTarget)) close(false);
  });
  document.addEventListener("pointerdown", (event) => {
    if (event.target instanceof Node && !root.contains(event.target)) close(false);
  });
  return { open, close };
}
