// Whoever points at a cell of a matrix, or moves to it with the arrow keys,
// sees it lit in all matrices of the figure, and reads its words and values.
// Where the matrices are, and what is in them, the drawing says itself.

const SVG = "http://www.w3.org/2000/svg";
const MOVES = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function add(parent, name, attributes) {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  return made;
}

class Linked {
  constructor(figure) {
    this.panels = JSON.parse(figure.dataset.panels);
    this.layers = [...figure.querySelectorAll(".panel")].map((drawing) =>
      add(drawing, "g", { class: "lit" }),
    );
    this.frame = document.createElement("div");
    this.frame.className = "linked";
    this.frame.tabIndex = 0;
    this.frame.role = "application";
    this.frame.ariaLabel = "Values of this figure: arrow keys go from cell to cell";
    this.says = document.createElement("output");
    figure.before(this.frame);
    this.frame.append(figure, this.says);
    this.listen();
  }

  listen() {
    const point = (event) => this.show(this.under(event));
    this.frame.addEventListener("pointermove", point);
    this.frame.addEventListener("pointerdown", point);
    this.frame.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.show();
    });
    this.frame.addEventListener("focus", () => {
      if (this.frame.matches(":focus-visible")) this.show(this.now ?? [0, 0, 0]);
    });
    this.frame.addEventListener("blur", () => this.show());
    this.frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.show();
      if (!(event.key in MOVES)) return;
      event.preventDefault();
      this.show(this.now ? this.beside(...MOVES[event.key]) : [0, 0, 0]);
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (!this.frame.contains(target)) this.show();
    });
  }

  sizes(panel) {
    const { values } = this.panels[panel];
    return [values.length, values[0].split(";").length];
  }

  // The panel, row and column below a pointer.
  under({ clientX, clientY }) {
    for (const [i, { drawing, box }] of this.panels.entries()) {
      const toPage = this.layers[drawing].getScreenCTM().inverse();
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(toPage);
      const [left, top, wide, high] = box;
      const [rows, columns] = this.sizes(i);
      const row = Math.floor(((y - top) / high) * rows);
      const column = Math.floor(((x - left) / wide) * columns);
      if (0 <= row && row < rows && 0 <= column && column < columns) {
        return [i, row, column];
      }
    }
  }

  // The cell beside the one that is lit: at an edge, one of the next panel.
  beside(right, down) {
    const [i, row, column] = this.now;
    const [rows, columns] = this.sizes(i);
    const [r, c] = [row + down, column + right];
    if (0 <= r && r < rows && 0 <= c && c < columns) return [i, r, c];
    const middle = ({ drawing, box: [x, y, w, h] }) => {
      const toScreen = this.layers[drawing].getScreenCTM();
      const at = new DOMPoint(x + w / 2, y + h / 2).matrixTransform(toScreen);
      return [at.x, at.y];
    };
    const [x, y] = middle(this.panels[i]);
    const [next] = this.panels
      .map((panel, j) => {
        const [dx, dy] = middle(panel).map((at, axis) => at - [x, y][axis]);
        const along = dx * right + dy * down;
        const aside = Math.abs(dx * down) + Math.abs(dy * right);
        return { j, along, far: along + 2 * aside };
      })
      .filter(({ along }) => along > 1)
      .sort((a, b) => a.far - b.far);
    if (!next) return this.now;
    const [high, wide] = this.sizes(next.j);
    const enter = (step, now, size) =>
      step ? (step > 0 ? 0 : size - 1) : Math.min(now, size - 1);
    return [next.j, enter(down, row, high), enter(right, column, wide)];
  }

  show(now) {
    if (String(now) === String(this.now)) return;
    this.now = now;
    for (const layer of this.layers) layer.replaceChildren();
    this.says.textContent = now ? this.words() : "";
    for (const [j, panel] of now ? this.panels.entries() : []) {
      const [rows, columns] = this.sizes(j);
      const [, row, column] = now;
      if (row >= rows || column >= columns) continue;
      const [x, y, w, h] = panel.box;
      const [width, height] = [w / columns, h / rows];
      const place = { x: x + width * column, y: y + height * row };
      add(this.layers[panel.drawing], "rect", { ...place, width, height });
    }
  }

  // What the lit cell is, and its value in each panel that has it.
  words() {
    const [i, row, column] = this.now;
    const { words: [rows, columns] } = this.panels[i];
    const values = this.panels.flatMap((panel) => {
      const value = panel.values[row]?.split(";")[column];
      return value === undefined ? [] : [`${panel.name} ${value}`];
    });
    return `row ${rows[row]}, column ${columns[column]}: ${values.join(", ")}`;
  }
}

for (const figure of document.querySelectorAll(".figure[data-panels]")) {
  new Linked(figure);
}
