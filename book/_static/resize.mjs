/* Sliders for the sizes of a preset, and all that follows from them. What it
 * computes with is explorer/sizes.mjs; `presets` (sizes.json) has the
 * formulas that book/_tools/sizes.py has found and tried. `models` has the names
 * of the atlas's models, whose cards are fetched from `cardsFile` if one is asked
 * for. */
import { Costs } from "./sizes.mjs";
import { follow, wishes } from "./address.mjs";
import { Sliders } from "./sliders.mjs";
import { bytes, count, element, marked, times } from "./written.mjs";

// What each kind is called, how much it is, of what, and what it is otherwise.
const KINDS = {
  parameters: ["Parameters", (n) => n.toLocaleString("en"), working],
  flops: ["Work", (n) => count(n / 2), (n) => `multiply-adds\n${count(n)} FLOPs`],
  activations: ["Activations", bytes, () => "kept by training", "not counted"],
  cache: ["Cache", bytes, () => `kept by writing\n${costs.width} bytes a number`, "none"],
};
const SHORT = {
  parameters: (n) => `${count(n)} parameters`, flops: (n) => `${count(n)} FLOPs`,
  activations: (n) => `activations ${bytes(n)}`, cache: (n) => `cache ${bytes(n)}`,
};
const page = Object.fromEntries(
  [...document.querySelectorAll("#resize [data-part]")].map((e) => [e.dataset.part, e]));

const sliders = new Sliders(page.sliders, page.error, changed);
const here = document.currentScript?.src;
let atlas = null; // its cards, once they are asked for
let costs = null; // of the preset that is shown
let updates = []; // what a change of a size does: in which fold, and what

/** Set a text, where it is another. */
function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** Say how many of the parameters work for a word, where some experts rest. */
function working(n, every) {
  const active = costs.total("active", every);
  return active ? `numbers in the model,\n${count(active)} work for a word` : "numbers in the model";
}

/** List the kinds that were counted of the preset. */
const counted = () => Object.keys(KINDS).filter((kind) => costs.kinds.includes(kind));

let due = 0;
let later = 0;

/** Show what has changed in the next frame, and say it when it rests. */
function changed() {
  cancelAnimationFrame(due);
  due = requestAnimationFrame(show);
  clearTimeout(later);
  later = setTimeout(remember, 400);
}

/** Show all numbers at these sizes; in a fold, when it is open. */
function show() {
  const every = costs.every(sliders.sizes);
  for (const [fold, update] of updates) if (!fold || fold.open) update(every);
}

/** Let the address say what is seen, and screen readers what has changed. */
function remember() {
  const moved = Object.entries(sliders.sizes)
    .filter(([name, size]) => size !== sliders.own[name]);
  const state = new URLSearchParams([["preset", page.preset.value], ...moved]);
  history.replaceState(null, "", `#${state}`);
  const totals = costs.totals(costs.every(sliders.sizes));
  say(page.said, counted().map((kind) => SHORT[kind](totals[kind])).join(", "));
}

/** Show the four totals, each beside the preset's own. */
function showTotals() {
  const before = costs.totals(costs.every(sliders.own));
  page.totals.replaceChildren(...Object.entries(KINDS).map(([kind, [title, written, means, none]]) => {
    const total = element("b", "", none);
    const [unit, compared, letters] = [0, 0, 0].map(() => element("span"));
    if (kind in before) {
      const needed = costs.dependsOn(kind);
      const names = Object.keys(sliders.own).filter((name) => needed.has(name));
      letters.append("depends on ", ...names.flatMap((name) => [...marked(name), " "]));
      updates.push([null, (every) => {
        const now = costs.total(kind, every);
        const same = now === before[kind];
        say(total, written(now));
        say(unit, means(now, every));
        say(compared, same ? "as the preset" : `${times(now, before[kind])} the preset’s`);
      }]);
    }
    const [box, about] = [element("div"), element("dd")];
    about.append(total, unit, compared, letters);
    box.append(element("dt", "", title), about);
    return box;
  }));
}

/** Show how many times as large each total is with one size doubled; heads
 * also with half as many channels each, so that C stays. */
function showDoubled() {
  const rows = Object.keys(sliders.own).map((name) => [marked(name), () => sliders.doubled(name)]);
  const { H, D } = sliders.own;
  const heads = [...marked("H"), ", half ", ...marked("D")];
  const finer = () => ({ ...sliders.doubled("H"), D: sliders.sizes.D / 2 });
  if (H && D) rows.splice(Object.keys(sliders.own).indexOf("H") + 1, 0, [heads, finer]);
  const body = element("tbody");
  body.append(...rows.map(([title, doubled]) => {
    const row = element("tr");
    const head = Object.assign(element("th"), { scope: "row" });
    head.append(...title);
    const cells = counted().map(() => element("td"));
    row.append(head, ...cells);
    updates.push([page.doubled, (every) => compare(cells, every, costs.every(doubled()))]);
    return row;
  }));
  const titles = counted().map((kind) => KINDS[kind][0]);
  page.doubled.querySelector("table")?.remove();
  page.doubled.append(table(["doubled", ...titles], [body]));
}

/** Say how many times as large the totals are then as they are now. */
function compare(cells, now, then) {
  counted().forEach((kind, i) => {
    const ratio = costs.total(kind, then) / costs.total(kind, now);
    say(cells[i], ratio === 1 ? "same" : `× ${ratio.toFixed(2)}`);
    cells[i].style.setProperty("--share", Math.min((ratio - 1) / 3, 1));
  });
}

function table(titles, bodies) {
  const found = element("table", "trace");
  const row = element("tr");
  row.append(...titles.map((title) => Object.assign(element("th", "", title), { scope: "col" })));
  const head = element("thead");
  head.append(row);
  found.append(head, ...bodies);
  return found;
}

/** Write a table when its fold is opened. */
function inFold(fold, write) {
  let written = null;
  updates.push([fold, () => { written ??= fold.appendChild(write()); }]);
}

/** Say of which part a line is: a block of a stack, or the first name. */
function partOf({ path }) {
  return path.match(/^[^*]*\*/)?.[0] ?? path.match(/^(en|de)coder\.norm/)?.[0]
    ?? path.split(".")[0];
}

/** Say in which sublayer of a block a line is; those that are in a few blocks
 * alone have a sublayer of their own. */
const sublayerOf = ({ path, each }) =>
  path.replace(/^.*\*\.?/, "").match(/^norms\.\d|^\w*/)[0] + (each ? "" : " ");

/** Put steps that follow one another together, by what `key` says of them. */
function runsOf(steps, key) {
  const runs = [];
  for (const step of steps) {
    if (runs.at(-1)?.key !== key(step)) runs.push({ key: key(step), steps: [] });
    runs.at(-1).steps.push(step);
  }
  return runs;
}

/** Show all steps, in parts that fold, and what is in none of them. */
function showParts() {
  const keys = new Set(costs.steps.map(partOf));
  const outside = element("p");
  updates.push([null, (every) => {
    const rest = needs("parameters", every, (line) => !keys.has(partOf(line)));
    say(outside, rest && `Outside these parts: ${rest}.`);
  }]);
  page.parts.replaceChildren(...runsOf(costs.steps, partOf).map(({ key, steps }) => {
    const fold = element("details");
    const [title, sums, summary] = ["b", "span", "summary"].map((tag) => element(tag));
    sums.append(...Object.keys(KINDS).map(() => element("span")));
    summary.append(title, sums);
    const block = key.endsWith("*");
    const name = key.replace(".*", "") || "masks";
    updates.push([null, (every) => {
      say(title, block ? `${name} × ${every.n_layers}` : name);
      const inside = (line) => key && partOf(line) === key;
      Object.keys(KINDS).forEach((kind, i) => say(sums.children[i], share(kind, every, inside)));
    }]);
    fold.append(summary);
    inFold(fold, () => {
      const runs = runsOf(steps, block ? sublayerOf : () => "");
      const all = table(["step", "shape", "FLOPs"], runs.map((run) => bodyOf(run, key, fold)));
      if (block) all.prepend(element("caption", "", "One block:"));
      return all;
    });
    fold.addEventListener("toggle", show);
    return fold;
  }), outside);
}

/** Write what some lines need together; of nothing, nothing. */
function needs(kind, every, inside, where) {
  const total = costs.total(kind, every, inside, where);
  return total ? SHORT[kind](total) : "";
}

/** Write it, and, of work, how much of all that is. */
function share(kind, every, inside) {
  const written = needs(kind, every, inside);
  if (kind !== "flops" || !written) return written;
  const part = 100 * costs.total(kind, every, inside) / costs.total(kind, every);
  return `${written} (${part < 0.1 ? "< 0.1" : part.toFixed(part < 9.95 ? 1 : 0)} %)`;
}

/** List steps of a sublayer under its name. */
function bodyOf({ key, steps }, part, fold) {
  const body = element("tbody");
  if (key) {
    const row = element("tr");
    const head = Object.assign(element("th"), { scope: "rowgroup", colSpan: 3 });
    row.append(head);
    body.append(row);
    const inside = (line) => partOf(line) === part && sublayerOf(line) === key;
    updates.push([fold, (every) => {
      const all = Object.keys(KINDS).map((kind) => needs(kind, every, inside, "one"));
      const blocks = steps[0].counted(every);
      const name = blocks === every.n_layers ? key : `${key.trim()} in ${blocks} blocks`;
      say(head, [name, all.filter(Boolean).join(", ")].filter(Boolean).join(": "));
    }]);
  }
  body.append(...steps.map((step) => rowOf(step, fold)));
  return body;
}

/** Show a step: its line, its shapes, its work. */
function rowOf(step, fold) {
  const { call, shapes, text } = step;
  const row = element("tr");
  const line = Object.assign(element("th"), { scope: "row" });
  line.append(element("code", "", call));
  const made = element("td");
  made.append(...shapes.map((shape) => shapeOf(shape, fold)));
  const work = element("td");
  if (text) {
    const number = element("span");
    work.append(...marked(text), element("br"), number);
    updates.push([fold, (every) => say(number, count(step.once(every)))]);
  }
  row.append(line, made, work);
  return row;
}

/** Show a shape: each letter above its size. */
function shapeOf(shape, fold) {
  const found = element("span", "shape");
  found.append("(");
  shape.forEach(({ text, size }, i) => {
    const axis = element("var");
    axis.append(...marked(text));
    if (!/^\d+$/.test(text)) {
      const below = element("sub");
      axis.append(below);
      updates.push([fold, (every) => say(below, String(size(every)))]);
    }
    found.append(i ? ", " : "", axis);
  });
  found.append(")");
  return found;
}

/** Show every parameter. */
function showParameters() {
  page.parameters.querySelector("table")?.remove();
  inFold(page.parameters, tableOfParameters);
}

/** List each: its name, its shape, how often, how many numbers. */
function tableOfParameters() {
  const fold = page.parameters;
  const body = element("tbody");
  for (const line of costs.lines.parameters) {
    const row = element("tr");
    const name = Object.assign(element("th"), { scope: "row" });
    const shape = line.texts.map((text, i) => ({ text, size: line.factors[i] }));
    const [made, all] = [element("td"), element("td")];
    name.append(element("code", "", line.path));
    made.append(shapeOf(shape, fold));
    row.append(name, made, all);
    body.append(row);
    const inside = line.path.includes("*");
    updates.push([fold, (every) => {
      say(all, (inside ? `${line.counted(every)} × ` : "") + count(line.once(every)));
    }]);
  }
  return table(["parameter", "shape", "numbers"], [body]);
}

/** Fetch the cards of the atlas. */
function fetchCards() {
  return new Promise((resolve, reject) => {
    addEventListener("cards", ({ detail }) => resolve(detail), { once: true });
    const src = new URL(cardsFile, here);
    document.head.append(
      Object.assign(document.createElement("script"), { src, onerror: reject }));
  });
}

/** Show a preset, at its own sizes or at others; of two that are asked for,
 * the last. */
async function choose(name, wanted = {}) {
  page.preset.value = name;
  if (!Object.hasOwn(presets, name)) {
    atlas ??= fetchCards();
    try {
      await atlas;
    } catch {
      atlas = null;
      return chooseFirst("The models could not be fetched.");
    }
    if (page.preset.value !== name) return;
  }
  const preset = presets[name] ?? (await atlas)[name];
  costs = new Costs(preset);
  page.window.hidden = !preset.window;
  page.window.querySelector("span").textContent = preset.window;
  updates = [];
  sliders.choose(costs, wanted);
  showTotals();
  showDoubled();
  showParts();
  showParameters();
  show(); // what a button opens is found by its title
  changed();
}

/** Show the book's own model, and say why. */
async function chooseFirst(why) {
  await choose("paper_base");
  page.error.textContent = `${why} This is paper_base.`;
}

/** Take up a preset and sizes that an address, or a button, asks for. */
async function takeUp({ preset = "paper_base", ...wanted }) {
  const there = [presets, models].some((some) => Object.hasOwn(some, preset));
  await (there ? choose(preset, wanted) : chooseFirst(`There is no preset ${preset}.`));
}

/** Make all that can be pressed do something. */
async function begin() {
  const groups = [
    ["this book", Object.keys(presets).map((name) => [name, name])],
    ["models you have heard of", Object.entries(models)],
  ];
  page.preset.append(...groups.map(([label, options]) => {
    const group = Object.assign(element("optgroup"), { label });
    group.append(...options.map(([name, title]) => new Option(title, name)));
    return group;
  }));
  page.form.addEventListener("submit", (event) => event.preventDefault());
  page.preset.addEventListener("change", () => choose(page.preset.value));
  page.own.addEventListener("click", () => choose(page.preset.value));
  for (const fold of [page.doubled, page.parameters]) fold.addEventListener("toggle", show);
  for (const button of document.querySelectorAll("button[data-sizes]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await takeUp(wishes(`#${button.dataset.sizes}`));
      const fold = [...page.parts.children].find(({ textContent }) =>
        button.dataset.open && textContent.startsWith(button.dataset.open));
      if (fold) fold.open = true;
      (fold?.firstChild ?? page.preset).focus();
    });
  }
  await follow(takeUp);
  document.querySelector("#resize").classList.remove("waiting");
}

begin();
