/* The whole model below the translation: one step at a time, its line of code,
 * its shape and its numbers, and for each number how it came about. */
import { arithmetic, axesOf, firstDifference, kindOf, sideOf } from "./steps.mjs";

const SIDES = { encoder: "Reading", decoder: "Writing" };
const MOST = 12; // columns with digits, and terms that are written out
const wholes = { maximumFractionDigits: 2, minimumFractionDigits: 2 };
const digits = new Intl.NumberFormat("en", wholes);
const written = (x) => x === -Infinity ? "−∞" : digits.format(x).replace("-", "−");

/** Shows runs in a panel, whose parts are given by name; `told` is called when
 * another step is chosen. */
export class Inside {
  constructor(parts, told) {
    Object.assign(this, { parts, told, place: [3, 4] });
    parts.step.addEventListener("change", () => this.go());
    parts.head.addEventListener("change", () => this.go());
    parts.previous.addEventListener("click", () => this.move(-1));
    parts.next.addEventListener("click", () => this.move(1));
    parts.first.addEventListener("click", () => this.jump());
    parts.steps.addEventListener("submit", (event) => event.preventDefault());
    parts.matrix.addEventListener("keydown", (event) => this.key(event));
    for (const name of ["focusin", "pointerover"]) {
      parts.matrix.addEventListener(name, (event) => this.point(event.target.closest("td")));
    }
  }

  /** Show a run: `right` has no bug, `seen` may have one; `words` are those of
   * each side, `likeliest` the columns of the last step and their words. */
  show(right, seen, words, likeliest) {
    Object.assign(this, { right, seen, words, likeliest });
    this.different = right === seen ? null : firstDifference(right, seen);
    this.parts.first.hidden = !this.different;
    if (!this.parts.step.options.length) this.offer();
    this.draw();
  }

  /** List the steps, by side, and the heads. */
  offer() {
    const paths = [...this.right.values.keys()];
    for (const [side, title] of Object.entries(SIDES)) {
      const group = Object.assign(document.createElement("optgroup"), { label: title });
      group.append(...paths.filter((path) => sideOf(path) === side)
        .map((path) => new Option(nameOf(path), path)));
      this.parts.step.append(group);
    }
    const heads = this.right.values.get("encoder.blocks.0.self_attention:q").shape[1];
    for (let h = 0; h < heads; h++) this.parts.head.append(new Option(h));
    this.parts.step.value = "decoder.blocks.0.cross_attention:weights";
  }

  move(by) {
    const { step } = this.parts;
    step.selectedIndex = Math.min(Math.max(step.selectedIndex + by, 0), step.length - 1);
    this.go();
  }

  /** Choose a step and a head, where they are given, and show them. */
  go(step = null, head = null) {
    for (const [list, value] of [[this.parts.step, step], [this.parts.head, head]]) {
      if ([...list.options].some((option) => option.value === value)) list.value = value;
    }
    this.draw();
    this.told();
  }

  /** Go to the first number that a bug has changed. */
  jump() {
    const { path, place } = this.different;
    this.place = place.slice(-2);
    this.go(path, place.length === 4 ? `${place[1]}` : null);
    this.cell(...this.place).focus();
  }

  /** Put the matrix of the chosen step in place. */
  draw() {
    const path = this.parts.step.value;
    const value = this.value(path);
    const axes = axesOf(path);
    this.parts.head.disabled = value.shape.length < 4;
    this.parts.code.textContent = kindOf(path).code;
    this.parts.shape.textContent = `${nameOf(path)} (${[...axes].join(", ")}) = (${value.shape.join(", ")})`;
    const [rows, columns] = [this.labels(path, axes.at(-2)), this.labels(path, axes.at(-1))];
    this.columns = path === "head" ? this.likeliest.map(([id]) => id) : columns.map((_, i) => i);
    const scale = Math.max(...value.data.filter(Number.isFinite).map(Math.abs), 1e-9);
    const head = element("tr");
    head.append(element("td"), ...columns.map((word) => heading(word, "col")));
    const body = rows.map((word, i) => {
      const row = element("tr");
      row.append(heading(word, "row"), ...columns.map((_, j) => this.number(path, i, j, scale)));
      return row;
    });
    this.parts.matrix.replaceChildren(head, ...body);
    this.parts.matrix.classList.toggle("many", columns.length > MOST);
    this.place = [Math.min(this.place[0], rows.length - 1), Math.min(this.place[1], columns.length - 1)];
    this.point(this.cell(...this.place));
  }

  /** Name what stands along an axis: words, or numbers of channels. */
  labels(path, letter) {
    if (letter === "V") return this.likeliest.map(([, word]) => word);
    if (!"TS".includes(letter)) {
      const n = this.right.values.get(path).shape.at(-1);
      return Array.from({ length: n }, (_, i) => `${i}`);
    }
    const english = sideOf(path) === "encoder"
      || (letter === "S" && path.includes("cross_attention"));
    return this.words[english ? "encoder" : "decoder"];
  }

  /** Give the numbers of a step; where a bug leaves it out, those without. */
  value(path) {
    return this.seen.values.get(path) ?? this.right.values.get(path);
  }

  full(path, i, j) {
    const place = [i, this.columns[j]];
    return this.right.values.get(path).shape.length < 4
      ? [0, ...place] : [0, Number(this.parts.head.value), ...place];
  }

  number(path, i, j, scale) {
    const place = this.full(path, i, j);
    const x = this.value(path).at(...place);
    const cell = element("td", written(x));
    cell.tabIndex = -1;
    cell.className = x === -Infinity ? "hidden" : x < 0 ? "below" : "above";
    cell.classList.toggle("changed", Math.abs(x - this.right.values.get(path).at(...place)) > 1e-9);
    cell.style.setProperty("--share", Number.isFinite(x) ? Math.abs(x) / scale : 0);
    Object.assign(cell.dataset, { i, j });
    return cell;
  }

  cell(i, j) {
    return this.parts.matrix.querySelector(`td[data-i="${i}"][data-j="${j}"]`);
  }

  /** Say of a cell how it was made. */
  point(cell) {
    if (!cell?.dataset.i) return;
    this.cell(...this.place)?.removeAttribute("aria-selected");
    this.cell(...this.place)?.setAttribute("tabindex", -1);
    this.place = [Number(cell.dataset.i), Number(cell.dataset.j)];
    cell.tabIndex = 0;
    cell.setAttribute("aria-selected", true);
    const path = this.parts.step.value;
    const place = this.full(path, ...this.place);
    const [row] = cell.parentNode.children;
    const column = this.parts.matrix.rows[0].cells[this.place[1] + 1];
    const changed = cell.classList.contains("changed")
      ? ` With the bug it is ${cell.textContent}.` : "";
    this.parts.made.textContent = `${row.textContent}, ${column.textContent}: `
      + `${inWords(arithmetic(this.right, path, place))}.${changed}`;
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    this.cell(this.place[0] + step[0], this.place[1] + step[1])?.focus();
  }
}

/** Write a sum of products out; of many terms, the largest. */
function inWords({ terms, then, value, why, says, larger }) {
  if (why) return `${why}, so the score ${written(terms[0][0])} becomes −∞`;
  const products = terms.map(([a, b]) => (b === 1 ? written(a) : `${written(a)} × ${written(b)}`));
  const order = terms.map(([a, b], i) => [Math.abs(a * b), i]).sort((a, b) => b[0] - a[0]);
  const kept = new Set(order.slice(0, MOST).map(([, i]) => i));
  const rest = terms.length - kept.size;
  let text = products.filter((_, i) => kept.has(i)).join(" + ").replaceAll("+ −", "− ");
  if (rest) text += ` + ${rest} smaller terms`;
  const after = then.map((x) => (typeof x === "number" ? written(x) : x)).join(" ");
  if (after) text = terms.length > 1 ? `(${text}) ${after}` : `${text} ${after}`;
  if (larger) text = `max(${text}, 0)`;
  const made = terms.length > 1 || after || larger || terms[0][1] !== 1
    ? `${text} = ${written(value)}` : `${text}, as it came in`;
  return says ? `${made} (${says})` : made;
}

/** Say in words which step a path is. */
function nameOf(path) {
  const plain = path.replace(/blocks\.0\.|^src_|^tgt_|^encoder\.|^decoder\./g, "");
  const number = { "residuals.0": "first sum", "residuals.1": "second sum", "residuals.2": "third sum" };
  return plain.replace(/residuals\.\d/, (found) => number[found])
    .replace("sum.norm", "norm").replace(/[.:_]/g, " ").trim();
}

function heading(word, scope) {
  const cell = element("th", word);
  cell.scope = scope;
  return cell;
}

/** Make an element with a text. */
export function element(tag, text = "") {
  return Object.assign(document.createElement(tag), { textContent: text });
}
