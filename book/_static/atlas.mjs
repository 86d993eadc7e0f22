/* Two cards of the atlas side by side, chosen by the reader. All that is shown
 * is read off the cards of the page. */
import { asked, besides } from "./besides.mjs";
import { element, marked } from "./written.mjs";

const page = Object.fromEntries(
  [...document.querySelectorAll("#atlas [data-part]")].map((e) => [e.dataset.part, e]));
const cards = new Map([...document.querySelectorAll(".card-of")].map(
  (card) => [card.closest("section").id, cardOf(card)]));
const selects = [page.first, page.second];

/** Read a card: its title, and its rows by their names; a size and a part may
 * have one name. */
function cardOf(card) {
  const rows = new Map();
  for (const row of card.querySelectorAll("dl > div, tr")) {
    const [head, cell] = [...row.cloneNode(true).children];
    cell.querySelector("small")?.remove();
    rows.set(`${row.tagName} ${head.textContent}`, { head, cell, text: cell.textContent.trim() });
  }
  const title = card.closest("section").querySelector("h2, h3").firstChild.textContent;
  return { title, rows };
}

/** Copy what is in an element into a cell of a table. */
function cellOf(tag, from) {
  const cell = element(tag, "", from ? "" : "none");
  if (from) cell.append(...from.cloneNode(true).childNodes);
  return cell;
}

/** Show the two that are chosen, and say how many rows differ. */
function show(unknown = []) {
  const both = selects.map(({ value }) => cards.get(value));
  const lost = unknown.map((name) => `There is no card “${name}”. `).join("");
  page.both.replaceChildren();
  if (!both.every(Boolean)) {
    page.said.textContent = `${lost}Choose two models.`;
    return;
  }
  const rows = besides(...both.map((card) => [...card.rows].map(([n, { text }]) => [n, text])));
  const body = element("tbody");
  body.append(...rows.map((row) => lineOf(row, both)));
  const head = element("tr");
  head.append(element("td"), ...both.map(({ title }, i) => {
    const cell = Object.assign(element("th"), { scope: "col" });
    cell.append(Object.assign(element("a", "", title), { href: `#${selects[i].value}` }));
    return cell;
  }));
  const [table, top] = [element("table", "besides"), element("thead")];
  top.append(head);
  table.append(top, body);
  page.both.append(table);
  const [many, shared] = ["differs", "both"].map((key) => rows.filter((row) => row[key]).length);
  page.said.textContent = `${lost}${many} rows differ (≠), of ${shared} that both have.`;
}

/** Show a row of both; one that differs is marked. */
function lineOf({ name, differs }, both) {
  const line = element("tr", differs ? "other" : "");
  const found = both.map((card) => card.rows.get(name));
  const head = cellOf("th", found.find(Boolean).head);
  head.scope = "row";
  if (differs) head.prepend("≠ ", element("span", "visually-hidden", "differs: "));
  line.append(head, ...found.map((row) => cellOf("td", row?.cell)));
  return line;
}

/** Choose two, and let the address say so. */
function choose(names) {
  selects.forEach((select, i) => { select.value = names[i]; });
  history.pushState(null, "", `#compare=${names.join(",")}`);
  show();
}

/** Take up what the address asks for; one that is about something else leaves
 * the choice as it is, and without any it is the first and the last. */
function takeUp() {
  const wanted = asked(location.hash, [...cards.keys()]);
  const fresh = !location.hash || !page.both.firstChild && !wanted;
  const ends = [...cards.keys()].filter((_, i, all) => i % (all.length - 1) === 0);
  const names = wanted?.names ?? (fresh ? ends : selects.map(({ value }) => value));
  selects.forEach((select, i) => { select.value = names[i]; });
  show(wanted?.unknown);
}

/** Give the letters in a tree of modules their colours. */
function colour(tree) {
  const walker = document.createTreeWalker(tree, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (/\(.*\)/.test(walker.currentNode.data)) texts.push(walker.currentNode);
  for (const text of texts) text.replaceWith(...marked(text.data));
}

/** Make all that can be pressed do something. */
function begin() {
  for (const select of selects) {
    const options = [...cards].map(([name, { title }]) => new Option(title, name));
    select.append(new Option("Choose a model", ""), ...options);
    select.addEventListener("change", () => choose(selects.map(({ value }) => value)));
  }
  page.form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("button[data-compare]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      choose(button.dataset.compare.split(","));
      page.second.focus({ preventScroll: true });
      page.form.scrollIntoView();
    });
  }
  for (const link of document.querySelectorAll("a[data-preset]")) {
    link.hash = `preset=${link.dataset.preset}`;
  }
  for (const fold of document.querySelectorAll(".card-of details")) {
    fold.addEventListener("toggle", () => colour(fold.lastElementChild), { once: true });
  }
  addEventListener("popstate", takeUp);
  takeUp();
  document.querySelector("#atlas").classList.remove("waiting");
  if (asked(location.hash, [])) page.form.scrollIntoView();
}

begin();
