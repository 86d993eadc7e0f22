/* A matrix on a page, whose numbers say how they were made. Of a product, both
 * factors stand beside it, the rows at its left and the columns above it: a row
 * and a column meet in the number that they make. */

import { element } from "./elements.mjs";
import { differ, inWords, written } from "./sums.mjs";

const FEW = 8; // columns that have room for digits: of a factor, or on a phone
const WIDE = 12; // and of the matrix itself, on a wide page
const LONGEST = 16; // terms of a sum whose factors are shown

export class Grid {
  /** Draws in a `table`, and writes below it, in a `note`. */
  constructor(table, note) {
    Object.assign(this, { table, note, place: [0, 0] });
    table.addEventListener("keydown", (event) => this.move(event));
    // A pointer that lies still does not choose what is drawn below it.
    for (const name of ["focusin", "pointermove"]) {
      table.addEventListener(name, (event) => {
        const cell = event.target.closest("td");
        const { i, j } = cell?.dataset ?? {};
        if (i && cell !== this.chosen) this.point(Number(i), Number(j));
      });
    }
  }

  /** Show a matrix: the words of its `rows` and `columns`; `value(i, j)` is a
   * number of it, `made(i, j)` how that came about, `before(i, j)` what it would
   * be without a bug. A `product` is written as its factors: "q @ k.T". */
  show(matrix) {
    this.matrix = { before: matrix.value, ...matrix };
    const { rows, columns, made, product } = this.matrix;
    const count = product ? made(0, 0).terms.length : 0;
    this.depth = count <= LONGEST ? count : 0;
    const terms = (i, j) => made(i, j).terms;
    const inner = [...Array(this.depth).keys()];
    const left = rows.map((_, i) => inner.map((k) => terms(i, 0)[k][0]));
    const above = inner.map((k) => columns.map((_, j) => terms(0, j)[k][1]));
    const own = rows.map((_, i) => columns.map((_, j) => this.matrix.value(i, j)));
    this.left = coloured(left);
    this.above = coloured(above);
    this.cells = coloured(own);
    this.cells.forEach((line, i) => line.forEach((cell, j) => this.mark(cell, i, j)));
    this.lay(rows, columns);
    this.table.classList.toggle("several", columns.length > FEW);
    this.table.classList.toggle("many", columns.length > WIDE);
    this.table.classList.toggle("deep", this.depth > FEW);
    this.point(...this.place);
  }

  /** Put headings and cells in rows: the factor above first. */
  lay(rows, columns) {
    const blank = (n) => Array.from({ length: n }, () => hidden(element("td")));
    const corner = element("td", this.depth ? this.matrix.product : "");
    corner.colSpan = 1 + this.depth;
    const top = [corner, ...columns.map(heading("col"))];
    const above = this.above.map((line) => [...blank(1 + this.depth), ...line]);
    const own = this.cells.map((line, i) =>
      [heading("row")(rows[i]), ...this.left[i].map(hidden), ...line]);
    this.table.replaceChildren(
      rowOf(top), ...above.map((cells) => hidden(rowOf(cells))), ...own.map(rowOf));
    for (const cell of this.left.flat()) cell.classList.add("factor", "left");
    for (const cell of this.above.flat()) cell.classList.add("factor", "top");
  }

  /** Give a cell what pointer and keyboard need. */
  mark(cell, i, j) {
    cell.tabIndex = -1;
    Object.assign(cell.dataset, { i, j });
    cell.classList.toggle("changed", differ(this.matrix.value(i, j), this.matrix.before(i, j)));
  }

  /** Light a number and what it was made of, and say how; a place beyond the
   * edge is the nearest one within. */
  point(i, j) {
    const [rows, columns] = [this.cells.length, this.cells[0].length];
    this.place = [Math.min(i, rows - 1), Math.min(j, columns - 1)];
    const [row, column] = this.place;
    const lit = [...(this.left[row] ?? []), ...this.above.map((line) => line[column])];
    for (const cell of this.lit ?? []) cell.classList.remove("lit");
    for (const cell of lit) cell.classList.add("lit");
    this.lit = lit;
    this.chosen?.removeAttribute("aria-selected");
    if (this.chosen) this.chosen.tabIndex = -1;
    this.chosen = this.cells[row][column];
    this.chosen.tabIndex = 0;
    this.chosen.setAttribute("aria-selected", true);
    this.note.textContent = this.said(row, column);
  }

  said(i, j) {
    const { rows, columns, value, made, before } = this.matrix;
    const [real, how] = [value(i, j), made(i, j)];
    const apart = Math.abs(how.value - real) > 1e-4 * Math.max(1, Math.abs(real));
    const more = apart ? `; the model has ${written(real)}` : "";
    const changed = this.chosen.classList.contains("changed")
      ? ` Without the bug it is ${written(before(i, j))}.` : "";
    return `${rows[i]}, ${columns[j]}: ${inWords(how)}${more}.${changed}`;
  }

  move(event) {
    const [row, column] = this.place;
    const places = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 0], End: [row, this.cells[0].length - 1],
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    const [i, j] = places[event.key];
    this.cells[i]?.[j]?.focus();
  }

  /** Move the keyboard to a place. */
  focus(i, j) {
    this.point(i, j);
    this.chosen.focus();
  }
}

/** Make a cell of each number, in the colour of its sign and size. */
function coloured(numbers) {
  const finite = numbers.flat().filter(Number.isFinite).map(Math.abs);
  const scale = Math.max(...finite, 1e-9);
  return numbers.map((row) => row.map((x) => {
    const cell = element("td", written(x));
    cell.className = x === -Infinity ? "hidden" : x < 0 ? "minus" : "plus";
    cell.style.setProperty("--share", Number.isFinite(x) ? Math.abs(x) / scale : 0);
    return cell;
  }));
}

function rowOf(cells) {
  const row = element("tr");
  row.append(...cells);
  return row;
}

/** Hide from those who listen what they are told in a sentence. */
function hidden(cell) {
  cell.setAttribute("aria-hidden", true);
  return cell;
}

function heading(scope) {
  return (word) => Object.assign(element("th", word), { scope });
}
