/* The attentions of a run, as `explore` puts them on a page: one step of one head
 * at a time, and for each number how it was made. */

import { element } from "./elements.mjs";
import { Grid } from "./grid.mjs";
import { pairs, share, sum } from "./sums.mjs";

const PARTS = ["queries", "keys", "values", "scores", "masked", "weights", "mixed"];
const NAMES = {
  queries: "q: queries", keys: "k: keys", values: "v: values", scores: "scores: q @ k.T, scaled",
  masked: "masked scores", weights: "weights: softmax", mixed: "heads: weights @ v",
};
const ONE = { queries: "query", keys: "key", values: "value", scores: "score", mixed: "mixture" };
const PRODUCTS = { scores: "q @ k.T", mixed: "weights @ v" };
const FAR = 1e4; // what a mask takes away from a score, at least

/** Read what Python wrote: words, and 32-bit numbers in base64. */
export function attentions(text) {
  return JSON.parse(text).map((one) => {
    const parts = {};
    for (const name of PARTS.filter((part) => one[part])) {
      const bytes = Uint8Array.from(atob(one[name]), (sign) => sign.charCodeAt(0));
      const data = new Float32Array(bytes.buffer);
      const n = (name === "keys" || name === "values" ? one.columns : one.rows).length;
      const width = data.length / one.heads / n;
      parts[name] = (h, i, j) => data[(h * n + i) * width + j];
      parts[name].width = width;
    }
    return { ...one, parts };
  });
}

/** Tell how a number of a part was made. */
export function madeOf({ parts, factor, columns }, name, h, i, j) {
  const value = parts[name](h, i, j);
  if (name === "scores" && parts.queries) {
    return product(pairs(parts.queries.width, (d) =>
      [parts.queries(h, i, d), parts.keys(h, j, d)]), factor);
  }
  if (name === "mixed") {
    return product(pairs(columns.length, (s) => [parts.weights(h, i, s), parts.values(h, s, j)]));
  }
  if (name === "masked") return masked(parts, columns, h, i, j);
  if (name === "weights") return share(pairs(columns.length, (s) => parts.masked(h, i, s)), j);
  return { terms: [[value, 1]], value, given: `channel ${j} of the ${ONE[name]}` };
}

function product(terms, factor = 1) {
  const then = !factor || Math.abs(factor - 1) < 1e-6 ? []
    : factor < 1 ? ["÷", 1 / factor] : ["×", factor];
  return sum(terms, (x) => x * (factor || 1), then);
}

function masked({ scores, masked: after }, columns, h, i, j) {
  const [score, value] = [scores(h, i, j), after(h, i, j)];
  if (value > score - FAR) {
    const bias = value - score;
    return bias ? { terms: [[score, 1], [bias, 1]], value, says: "the mask adds to the score" }
      : { terms: [[score, 1]], value, says: "not hidden" };
  }
  const future = columns.every((_, s) => s <= i || after(h, i, s) < scores(h, i, s) - FAR);
  const why = columns[j] === "[PAD]" ? "padding is hidden"
    : future && j > i ? "this key lies after the query" : "the mask hides it";
  return { terms: [[score, 1]], value, why };
}

/** Lets a reader choose an attention, a head, a step and a number. */
export class Attentions {
  constructor(root, found, { step, head, cell = [0, 0] }) {
    Object.assign(this, { root, found });
    const [table, note] = [element("table"), element("p")];
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", "The numbers of this step");
    note.setAttribute("role", "status");
    this.shape = element("p");
    this.attention = this.choice("Attention", found.map((one) => one.path || "the model"));
    this.head = this.choice("Head", []);
    this.step = this.choice("Step", []);
    this.grid = new Grid(table, note);
    const controls = element("form");
    controls.append(...[this.attention, this.head, this.step].map((list) => list.parentNode));
    root.append(controls, this.shape, table, note);
    this.offer(head, step);
    this.grid.point(...cell);
    this.follow();
    addEventListener("hashchange", () => this.follow());
  }

  choice(name, texts) {
    const [label, list] = [element("label", name), element("select")];
    list.setAttribute("aria-label", name);
    list.append(...texts.map((text, i) => new Option(text, i)));
    list.addEventListener("change", () => (list === this.attention ? this.offer() : this.show()));
    label.append(list);
    return list;
  }

  /** List the heads and steps of the attention that is chosen. */
  offer(head = this.head.value, step = this.step.value || "weights") {
    const { heads, parts } = this.found[this.attention.value];
    this.head.replaceChildren(...pairs(heads, (h) => new Option(h, h)));
    this.step.replaceChildren(...Object.keys(parts).map((name) => new Option(NAMES[name], name)));
    this.head.value = head < heads ? head || 0 : 0;
    this.attention.parentNode.hidden = this.found.length === 1;
    this.step.value = Object.hasOwn(parts, step) ? step : "weights";
    this.show();
  }

  show() {
    const one = this.found[this.attention.value];
    const [h, name] = [Number(this.head.value), this.step.value];
    const part = one.parts[name];
    const rows = name === "keys" || name === "values" ? one.columns : one.rows;
    const square = ["scores", "masked", "weights"].includes(name);
    this.shape.textContent = `${one.path || "the model"}, head ${h}: ${NAMES[name].split(":")[0]} (${rows.length}, ${part.width})`;
    this.grid.show({
      rows,
      columns: square ? one.columns : pairs(part.width, (i) => `${i}`),
      value: (i, j) => part(h, i, j),
      made: (i, j) => madeOf(one, name, h, i, j),
      product: one.parts.queries || name !== "scores" ? PRODUCTS[name] : undefined,
    });
  }

  /** Show what the address asks for, attention, head, step and cell:
   * #explore-2-1-weights-3-0 */
  follow() {
    const asked = /^#explore-(\d+)-(\d+)-([a-z]+)(?:-(\d+)-(\d+))?$/.exec(location.hash);
    if (!asked || !this.found[asked[1]]) return;
    const [attention, head, step, row, column] = asked.slice(1);
    this.attention.value = attention;
    this.offer(head, step);
    if (column) this.grid.point(Number(row), Number(column));
    this.root.scrollIntoView({ block: "center" });
  }
}
