/* The whole model below the translation: one step at a time, its line of code,
 * its shape and its numbers, and for each number how it came about. */
import { arithmetic, axesOf, firstDifference, kindOf, sideOf } from "./steps.mjs";
import { Grid } from "./grid.mjs";

const SIDES = { encoder: "Reading", decoder: "Writing" };
const OWN = { step: "decoder.blocks.0.cross_attention:weights", head: "0" };

/** Shows runs in a panel, whose parts are given by name; `told` is called when
 * another step is chosen. */
export class Inside {
  constructor(parts, told) {
    Object.assign(this, { parts, told });
    this.grid = new Grid(parts.matrix, parts.made);
    this.grid.place = [3, 4];
    parts.step.addEventListener("change", () => this.go());
    parts.head.addEventListener("change", () => this.go());
    parts.previous.addEventListener("click", () => this.move(-1));
    parts.next.addEventListener("click", () => this.move(1));
    parts.first.addEventListener("click", () => this.jump());
    parts.steps.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Show a run: `right` has no bug, `seen` may have one; `words` are those that
   * each side reads, and those that are written; `likeliest` the columns of the
   * last step and their words. */
  show(right, seen, words, likeliest) {
    Object.assign(this, { right, seen, words, likeliest });
    this.different = right === seen ? null : firstDifference(right, seen);
    this.parts.first.hidden = !this.different;
    this.draw();
  }

  /** List the steps of a run, by side, and the heads. */
  offer({ values }) {
    const paths = [...values.keys()];
    for (const [side, title] of Object.entries(SIDES)) {
      const group = Object.assign(document.createElement("optgroup"), { label: title });
      group.append(...paths.filter((path) => sideOf(path) === side)
        .map((path) => new Option(nameOf(path), path)));
      this.parts.step.append(group);
    }
    const heads = values.get("encoder.blocks.0.self_attention:q").shape[1];
    for (let h = 0; h < heads; h++) this.parts.head.append(new Option(h));
  }

  move(by) {
    const { step } = this.parts;
    step.selectedIndex = Math.min(Math.max(step.selectedIndex + by, 0), step.length - 1);
    this.go();
  }

  /** Show a step and a head. */
  go(step, head) {
    this.choose(step, head);
    this.draw();
    this.told();
  }

  /** Choose a step and a head; for those that there are not, the page's own. */
  choose(step = this.parts.step.value, head = this.parts.head.value) {
    for (const [name, value] of Object.entries({ step, head })) {
      this.parts[name].value = value;
      if (this.parts[name].selectedIndex < 0) this.parts[name].value = OWN[name];
    }
  }

  /** Go to the first number that a bug has changed. */
  jump() {
    const { path, place } = this.different;
    this.go(path, place.length === 4 ? `${place[1]}` : undefined);
    this.grid.focus(...place.slice(-2));
  }

  /** Put the matrix of the chosen step in place, once the panel is there. */
  draw() {
    if (this.parts.matrix.closest(".waiting")) return;
    const path = this.parts.step.value;
    const value = this.seen.values.get(path);
    const axes = axesOf(path);
    this.parts.head.parentNode.style.visibility = value.shape.length < 4 ? "hidden" : "visible";
    this.parts.previous.disabled = this.parts.step.selectedIndex === 0;
    this.parts.next.disabled = this.parts.step.selectedIndex === this.parts.step.length - 1;
    this.parts.code.textContent = kindOf(path).code;
    this.parts.shape.textContent = `${nameOf(path)} (${[...axes].join(", ")}) = (${value.shape.join(", ")})`;
    const columns = this.labels(path, axes.at(-1));
    const all = path === "head" ? this.likeliest.map(([id]) => id) : columns.map((_, j) => j);
    const at = (i, j) => [...this.front(value), i, all[j]];
    this.grid.show({
      rows: this.rows(path, axes.at(-2)),
      columns,
      value: (i, j) => value.at(...at(i, j)),
      before: (i, j) => this.right.values.get(path).at(...at(i, j)),
      made: (i, j) => arithmetic(this.seen, path, at(i, j)),
      product: kindOf(path).code.match(/^\S+ @ \S+/)?.[0],
    });
  }

  /** Say which matrix of a step is shown: of the sentence, and of the head. */
  front({ shape }) {
    return shape.length < 4 ? [0] : [0, Number(this.parts.head.value)];
  }

  /** Name the rows: a word that is read and, where one is written next, that. */
  rows(path, letter) {
    const read = this.labels(path, letter);
    const writes = letter === "T" && sideOf(path) === "decoder";
    const next = writes ? this.words.written : [];
    return read.map((word, i) => (i in next ? `${word} → ${next[i]}` : word));
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
}

/** Say in words which step a path is. */
export function nameOf(path) {
  const plain = path.replace(/blocks\.0\.|^src_|^tgt_|^encoder\.|^decoder\./g, "");
  const number = ["first", "second", "third"];
  return plain.replace(/(sum|norm)s\.(\d)/, (_, part, n) => `${number[n]} ${part}`)
    .replace(/:([qkv])$/, " $1, by head").replace(/:hidden$/, " hidden after ReLU")
    .replace(/^head$/, "scores of words").replace(/[.:_]/g, " ").trim();
}
