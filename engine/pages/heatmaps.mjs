/* The weights of an attention layer as small matrices, one beside the other for each
 * head. Whoever points at a cell, or moves there with the arrow keys, reads its words
 * and its weight. */
import { element } from "./elements.mjs";

const [CELL, ROW] = [11, 13]; // wide and high
const LEFT = 60; // for the words of the rows
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Draw the `weights` (heads, rows, columns) of the layer at a `path`, with the words of
 * its `rows` and `columns`; `say` is told of the cell that is pointed at. */
export function heatmap({ path, weights, rows, columns }, say) {
  const [figure, caption] = [element("div"), element("small")];
  const [S, T, wide] = [columns.length, rows.length, weights.length * columns.length];
  const size = [LEFT + CELL * (wide + weights.length), ROW * T];
  const svg = drawn("svg", {
    viewBox: `0 0 ${size.join(" ")}`, width: size[0], tabindex: 0, role: "application",
    "aria-label": `Weights of ${path}: arrow keys go from cell to cell`,
  });
  const cells = rows.map((_, t) => [...Array(wide).keys()].map((c) => drawn("rect", {
    x: LEFT + CELL * (c + Math.floor(c / S)), y: ROW * t,
    style: `--weight: ${weights[Math.floor(c / S)][t][c % S]}`,
  })));
  let place = [0, 0];
  const point = (t, c) => {
    const [row, column] = [Math.max(0, Math.min(t, T - 1)), Math.max(0, Math.min(c, wide - 1))];
    cells[place[0]][place[1]].removeAttribute("class");
    place = [row, column];
    cells[row][column].setAttribute("class", "lit");
    const [h, s] = [Math.floor(column / S), column % S];
    say(`Head ${h}: ${rows[row]} attends to ${columns[s]} with weight ${weights[h][row][s].toFixed(2)}.`);
  };
  svg.addEventListener("focus", () => point(...place));
  for (const event of ["pointermove", "pointerdown"]) {
    svg.addEventListener(event, ({ target }) => {
      const t = cells.findIndex((row) => row.includes(target));
      if (t >= 0) point(t, cells[t].indexOf(target));
    });
  }
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    point(...place.map((x, i) => x + MOVES[event.key][i]));
  });
  svg.append(...rows.map((word, t) =>
    drawn("text", { x: LEFT - 4, y: ROW * (t + 0.8) }, word)), ...cells.flat());
  caption.append(element("code", path), ` (heads: ${weights.length})`);
  figure.append(caption, svg);
  return figure;
}

function drawn(name, attributes, text = "") {
  const found = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.textContent = text;
  return found;
}
