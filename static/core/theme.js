/** The look that was wished for: light, dark, or what the system has. Kept in the browser. */

const KEY = "odysseus.theme";

/** The names of what is the system's own. */
const SYSTEM = ["system", "auto", "default"];

/** @param {unknown} name  one that the page does not have changes nothing */
export function setTheme(name) {
  const theme = SYSTEM.includes(String(name)) ? "" : name;
  if (theme !== "" && theme !== "light" && theme !== "dark") return;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch (error) {
    console.warn("The theme cannot be kept.", error);
  }
}

export function restoreTheme() {
  try {
    const theme = localStorage.getItem(KEY);
    if (theme) document.documentElement.dataset.theme = theme;
  } catch (error) {
    console.warn("The theme cannot be read.", error);
  }
}
