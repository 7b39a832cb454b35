/** The polite line under the composer, and the alert above it. */

import { UNREACHABLE } from "../core/api.js";
import { byId, setText } from "../core/dom.js";
import { currentEndpoint, refreshModels } from "../core/models.js";
import { progress } from "../core/progress.js";
import { said } from "../core/said.js";
import { isLive, set, state, watch } from "../core/state.js";

const LOADING_MS = 1000;

const line = byId("status", HTMLElement);
const alert = byId("alert", HTMLElement);
const away = byId("away", HTMLElement);
const alertText = byId("alert-text", HTMLElement);

let asking = 0;

function drawLine() {
  const { live } = state.chat;
  const loading = currentEndpoint()?.state === "loading";
  setText(line, said() || (live ? progress(live, loading) : ""));
  line.dataset.busy = String(isLive());
  watchLoading();
}

/** While the embedded model has said nothing yet, ask whether it is still being loaded. */
function watchLoading() {
  const { live } = state.chat;
  const silent = live && !live.ended && !live.text && !live.thinking;
  if (!silent || asking || currentEndpoint()?.kind !== "local") return;
  asking = setTimeout(() => {
    void refreshModels().finally(() => {
      asking = 0;
      watchLoading();
    });
  }, LOADING_MS);
}

function drawAlert() {
  away.hidden = !state.away;
  alert.hidden = !state.alert || (state.away && state.alert === UNREACHABLE); // one of them is enough
  setText(alertText, state.alert);
}

export function startStatus() {
  watch(["chat", "live", "models", "said"], drawLine);
  watch(["alert", "away"], drawAlert);
  byId("alert-close", HTMLButtonElement).addEventListener("click", () => set({ alert: "" }));
}
