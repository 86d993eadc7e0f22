/* The whole model below the translation, one step at a time: its code, its numbers,
 * and for each number how it is made. */
import { pairs } from "./sums.mjs";
import { Grid } from "./grid.mjs";
import { Run, numberAt } from "./recorded.mjs";

const OWN = "decoder.blocks.0.cross_attention:softmax"; // the step that is seen first
const ROOM = 64; // columns; of more, only those of the words that are written

/** Shows runs in a panel, whose parts are given by name; `told` is called when
 * another step is chosen: `state` has it, for an address. */
export class Inside {
  constructor(parts, told) {
    Object.assign(this, { parts, told, state: {}, grid: new Grid(parts.matrix, parts.made) });
    this.grid.place = [3, 4];
    parts.step.addEventListener("change", () => this.go(parts.step.value));
    parts.head.addEventListener("change", () => this.go(parts.step.value, parts.head.value));
    for (const [name, by] of [["previous", -1], ["next", 1]]) {
      parts[name].addEventListener("click", () => this.go(parts.step[parts.step.selectedIndex + by].value));
    }
    parts.first.addEventListener("click", () => this.jump());
  }

  /** Choose a step and a head, as an address names them. */
  choose(step, head) {
    this.state = { ...(step && { step }), ...(head && { head }) };
    if (this.run) this.draw();
  }

  go(step, head = this.state.head) {
    this.choose(step, head);
    this.told();
  }

  /** Show what the engine found; `clean` is what it finds of the same words without a bug. */
  show(found, clean = found) {
    const panel = this.parts.steps.parentNode;
    panel.hidden = !found.steps;
    if (panel.hidden) return;
    this.run = new Run(found);
    this.clean = clean.steps ? new Run(clean) : this.run;
    this.different = this.run.difference(this.clean);
    this.parts.first.hidden = !this.different;
    const shown = [...this.run.steps.values()].filter((step) => step.makes || step === this.different?.step);
    this.parts.step.replaceChildren(...[...new Set(shown.map(({ side }) => side))].map((label) => {
      const group = Object.assign(document.createElement("optgroup"), { label });
      group.append(...shown.filter(({ side }) => side === label).map(({ name, key }) => new Option(name, key)));
      return group;
    }));
    this.draw();
  }

  /** Go to the first number that a bug has changed. */
  jump() {
    const { step, place } = this.different;
    const [j, i = 0, head = 0] = [...place].reverse();
    this.go(step.key, `${head}`);
    this.grid.focus(i, Math.max(this.columns.indexOf(j), 0));
  }

  /** Put the matrix of the chosen step in place. */
  draw() {
    const { parts, parts: { step: list, head }, run, state } = this;
    list.selectedIndex = -1;
    for (const key of [state.step, OWN, list[0].value]) if (list.selectedIndex < 0) list.value = key;
    const step = run.steps.get(list.value);
    const { out, out: { shape } } = step;
    const [n = 1, rows = 1, many = 1] = [...shape].reverse();
    head.replaceChildren(...pairs(many, (h) => new Option(h)));
    head.value = Math.min(Number(state.head) || 0, many - 1);
    head.parentNode.style.visibility = many > 1 ? "visible" : "hidden";
    parts.previous.disabled = list.selectedIndex === 0;
    parts.next.disabled = list.selectedIndex === list.length - 1;
    parts.code.textContent = run.code(out, step.path);
    parts.means.textContent = [...parts.meanings.children].find(({ dataset: { of } }) => new RegExp(of).test(step.key))?.textContent ?? "";
    const other = this.clean.steps.get(step.key);
    parts.shape.textContent = `${step.name} (${shape.join(", ")})${other ? "" : ": without the bug there is no such step"}`;
    this.columns = n > ROOM ? [...run.ids.keys()] : pairs(n, (j) => j);
    const front = [...pairs(Math.max(shape.length - 3, 0), () => 0), Number(head.value)];
    const at = (i, j) => [...front, i, this.columns[j]];
    this.grid.show({
      rows: rows > 1 ? run.labels(out, 2) : ["all"],
      columns: n > ROOM ? [...run.ids.values()] : run.labels(out, 1),
      value: (i, j) => numberAt(out, at(i, j)),
      before: (i, j) => numberAt(other?.out ?? out, at(i, j)),
      made: (i, j) => run.made(step, at(i, j)),
      product: step.op === "matmul" ? "x @ y" : undefined,
    });
  }
}
