/* The wall of models in the order that a reader chooses, and two of them side
 * by side. All that is shown is read off the cards of the page. */
import { asked, besides } from "./besides.mjs";
import { element, marked } from "./written.mjs";

const page = Object.fromEntries(
  [...document.querySelectorAll("#atlas [data-part]")].map((e) => [e.dataset.part, e]));
const cards = new Map([...document.querySelectorAll(".card-of")].map(
  (card) => [card.closest("section").id, cardOf(card)]));
const wall = document.querySelector(".models");
const tiles = [...wall.children];
const selects = [page.first, page.second];
const FIRST = ["llama-2-7b", "llama-3-8b"]; // compared until a reader chooses
const GROUPS = {
  "Different": ({ differs }) => differs,
  "Only one has it": ({ both }) => !both,
  "The same in both": ({ both, differs }) => both && !differs,
};
let ticked = []; // the boxes on the wall that a reader has ticked

/** Put the wall in an order; what has no cache comes last. */
function sort(by) {
  const number = ({ dataset }) => Number(dataset[by]) || (by === "cache" ? 1e99 : 0);
  wall.append(...[...tiles].sort((a, b) => number(a) - number(b)));
  wall.dataset.by = by;
  for (const link of document.querySelectorAll(".orders a")) {
    link.ariaCurrent = link.hash === `#by=${by}`;
  }
}

/** Say which two models the wall has ticked, and lead to both. */
function tick({ target }) {
  ticked = [...ticked.filter((box) => box !== target), target].filter((box) => box.checked).slice(-2);
  for (const box of wall.querySelectorAll("input")) box.checked = ticked.includes(box);
  const titles = ticked.map(({ value }) => cards.get(value).title);
  const link = element("a", "", `Compare ${titles.join(" with ")} ↓`);
  link.href = addressOf(ticked.map(({ value }) => value));
  page.ticked.replaceChildren(titles[1] ? link : `Tick one more to compare with ${titles}.`);
  page.ticked.hidden = !titles[0];
}

/** Write the address of a choice of two, which keeps the order of the wall. */
function addressOf(names) {
  const { by = "parameters" } = wall.dataset;
  return `#${by === "parameters" ? "" : `by=${by}&`}compare=${names.join(",")}`;
}

/** Read a card: its title, and its rows by their names; a size and a part may
 * have one name. Of a cost, its value counts, and what says "none" is no row. */
function cardOf(card) {
  const rows = new Map();
  for (const row of card.querySelectorAll("dl > div, tr")) {
    const [head, cell] = [...row.cloneNode(true).children];
    cell.querySelector("small")?.remove();
    const text = (cell.querySelector("b:has(+ .formula)") ?? cell).textContent.trim();
    if (text !== "none") rows.set(`${row.tagName} ${head.textContent}`, { head, cell, text });
  }
  const title = card.closest("section").querySelector("h2, h3").firstChild.textContent;
  return { title, rows, drawn: card.querySelector(".drawn") };
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
  if (!both.every(Boolean)) {
    page.said.textContent = `${lost}Choose two models.`;
    return page.both.replaceChildren();
  }
  const rows = besides(...both.map((card) => [...card.rows].map(([n, { text }]) => [n, text])));
  const table = element("table", "besides");
  const head = table.createTHead().insertRow();
  head.append(element("td"), ...both.map(({ title, drawn }, i) => {
    const cell = Object.assign(element("th"), { scope: "col" });
    const link = Object.assign(element("a", "", title), { href: `#${selects[i].value}` });
    cell.append(link, drawn.cloneNode(true));
    return cell;
  }));
  for (const [title, belongs] of Object.entries(GROUPS)) {
    const group = table.createTBody();
    group.dataset.title = title;
    group.append(...rows.filter(belongs).map((row) => lineOf(row, both)));
  }
  page.both.replaceChildren(table);
  const [many, shared] = ["differs", "both"].map((key) => rows.filter((row) => row[key]).length);
  page.said.textContent = `${lost}${many} rows differ, of ${shared} that both have.`;
}

/** Show a row of both. */
function lineOf({ name, differs }, both) {
  const line = element("tr", differs ? "other" : "");
  const found = both.map((card) => card.rows.get(name));
  const head = cellOf("th", found.find(Boolean).head);
  head.scope = "row";
  line.append(head, ...found.map((row) => cellOf("td", row?.cell)));
  return line;
}

/** Take up what the address asks for; one that is about something else leaves
 * the choice as it is. */
function takeUp() {
  const by = new URLSearchParams(location.hash.slice(1)).get("by");
  if (!location.hash || by in tiles[0].dataset) sort(by ?? "parameters");
  const wanted = asked(location.hash, [...cards.keys()]);
  const fresh = !location.hash || !page.both.firstChild && !wanted;
  const names = wanted?.names ?? (fresh ? FIRST : selects.map(({ value }) => value));
  selects.forEach((select, i) => { select.value = names[i]; });
  show(wanted?.unknown);
  return wanted;
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
    select.addEventListener("change", () => {
      history.pushState(null, "", addressOf(selects.map(({ value }) => value)));
      show();
    });
  }
  page.form.addEventListener("submit", (event) => event.preventDefault());
  wall.addEventListener("change", tick);
  wall.after(page.ticked);
  for (const fold of document.querySelectorAll(".card-of details:last-child")) {
    fold.addEventListener("toggle", () => colour(fold.lastElementChild), { once: true });
  }
  addEventListener("hashchange", () => {
    if (!takeUp()) return;
    page.second.focus({ preventScroll: true });
    page.form.parentElement.scrollIntoView();
  });
  const there = takeUp() ? page.form.parentElement : document.getElementById(location.hash.slice(1));
  document.querySelector("#atlas").classList.remove("waiting");
  there?.scrollIntoView();
}

begin();
