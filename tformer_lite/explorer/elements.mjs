/* What stands on a page, and what is put there. */

/** Find the parts of some panels, by name. */
export function partsOf(selector) {
  const parts = document.querySelectorAll(`${selector} [data-part]`);
  return Object.fromEntries([...parts].map((part) => [part.dataset.part, part]));
}

/** Make an element with a text. */
export function element(tag, text = "") {
  return Object.assign(document.createElement(tag), { textContent: text });
}

/** Wait until the page has answered its reader. */
export const rest = () => new Promise((rested) => setTimeout(rested));

/** Do all steps of something with a rest before each, and give what comes of them. */
export async function slowly(steps) {
  for (;;) {
    await rest();
    const { value, done } = steps.next();
    if (done) return value;
  }
}

/** Put content in an item of a list. */
export function inItem(...content) {
  const item = element("li");
  item.append(...content);
  return item;
}
