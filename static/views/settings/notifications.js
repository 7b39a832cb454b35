/** Settings, notifications: whether an answer that ends while no tab is shown is told by the system. Kept in this browser. */

import { h } from "../../core/dom.js";
import { canNotify, isNotifying, setNotifying } from "../../core/notify.js";
import { createSaid } from "./parts.js";

const REFUSED = "The browser does not allow notifications here. Allow them for this address in the browser's own settings, then turn this on.";

/** @type {import("./dialog.js").Draw} */
export function draw(root) {
  if (!canNotify()) return root.replaceChildren(h("p", {}, "This browser has no notifications for a page at this address."));
  const { node: said, say } = createSaid();
  const box = h("input", { type: "checkbox", role: "switch", checked: isNotifying() });
  box.addEventListener("change", async () => {
    const wanted = box.checked;
    say("");
    box.checked = await setNotifying(wanted);
    if (wanted && !box.checked) say(REFUSED, "bad");
  });
  root.replaceChildren(
    h("label", { class: "check" }, box, "Notify me when a hidden answer is finished"),
    said,
    h("p", { class: "quiet" }, "It comes when an answer ends while no tab of the page is shown, once over all tabs, and needs a tab that stays open. This is kept in this browser."),
  );
}
