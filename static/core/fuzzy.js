/** How well a few typed letters fit a name. Pure. */

/**
 * The higher the better; 0 when the letters do not occur in their order. Whole words and beginnings come first.
 *
 * @param {string} typed
 * @param {string} name
 */
export function fit(typed, name) {
  const query = typed.trim().toLocaleLowerCase();
  const text = name.toLocaleLowerCase();
  if (!query) return 1;
  const at = text.indexOf(query);
  if (at >= 0) return 1000 - Math.min(at, 400) + (at === 0 || /[\s\p{P}]/u.test(text[at - 1] ?? "") ? 500 : 0);
  return scattered([...query].filter((letter) => letter.trim()), text);
}

/**
 * @param {string[]} letters
 * @param {string} text
 */
function scattered(letters, text) {
  let place = -1;
  let score = 200;
  for (const letter of letters) {
    const next = text.indexOf(letter, place + 1);
    if (next < 0) return 0;
    const starts = next === 0 || /[\s\p{P}]/u.test(text[next - 1] ?? "");
    score -= starts ? 0 : Math.min(next - place - 1, 20);
    place = next;
  }
  return Math.max(score, 1);
}
