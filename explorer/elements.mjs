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

/** Put content in an item of a list. */
export function inItem(...content) {
  const item = element("li");
  item.append(...content);
  return item;
}
