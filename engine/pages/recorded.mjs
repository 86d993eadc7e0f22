/* A run of the reader's file as the engine notes it: the operations of PyTorch, one
 * after another, and how each number of theirs is made. */
import { differ, pairs, share, sum, written } from "./sums.mjs";

const SIGNS = {
  add: "+", sub: "-", mul: "*", div: "/", pow: "**", matmul: "@", eq: "==", ne: "!=",
  lt: "<", le: "<=", gt: ">", ge: ">=", logical_and: "&", logical_or: "|",
};
const MOVES = "view reshape transpose permute expand index as clone detach".split(" "); // make no numbers
const SIDES = { src: "Reading", tgt: "Writing" };

const isTensor = (x) => Boolean(x?.shape);
const isLookup = ({ op, given: [table, ids] }) => op === "index" && isTensor(ids) && table.name;
const behind = (shape, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1);

/** Read a number of a tensor, which is repeated to the size of a larger one. */
export function numberAt(x, place) {
  if (!isTensor(x)) return x;
  const more = place.length - x.shape.length;
  return x.data[x.shape.reduce((at, n, axis) => at * n + Math.min(place[axis + more], n - 1), 0)];
}

const row = (x, at, axis) => pairs(x.shape.at(axis), (k) => numberAt(x, at.with(axis, k)));
const meanOf = (numbers) => numbers.reduce((all, a) => all + a, 0) / numbers.length;

/* How operations make a number at a place. */
const MADE = {
  matmul: ([x, y], at) => sum(row(x, at, -1).map((a, k) => [a, numberAt(y, at.with(-2, k))])),
  softmax: ([x, axis], at) => ({ ...share(row(x, at, axis), at.at(axis)),
    ...((axis + 1) % x.shape.length && { says: `e to the power of this score minus the largest along axis ${axis}; divided by the sum of such powers` }) }),
  layer_norm([x, gain, offset, eps], at) {
    const mean = meanOf(row(x, at, -1));
    const deviation = Math.sqrt(meanOf(row(x, at, -1).map((a) => (a - mean) ** 2)) + eps);
    const [by, more] = [numberAt(gain, at) ?? 1, numberAt(offset, at) ?? 0];
    const says = "minus the row's mean, divided by its standard deviation, times a gain, plus an offset";
    return { says, ...sum([[numberAt(x, at), 1], [-mean, 1]], (a) => (a / deviation) * by + more,
      ["÷", deviation, "×", by, "+", more]) };
  },
  add: ([x, y], at) => sum([[numberAt(x, at), 1], [numberAt(y, at), 1]]),
  sub: ([x, y], at) => sum([[numberAt(x, at), 1], [-numberAt(y, at), 1]]),
  mul: ([x, y], at) => sum([[numberAt(x, at), numberAt(y, at)]]),
  div: ([x, y], at) => sum([[numberAt(x, at), 1]], (a) => a / numberAt(y, at), ["÷", numberAt(y, at)]),
  relu: ([x], at) => ({ ...sum([[numberAt(x, at), 1]], (a) => Math.max(a, 0)), larger: true }),
};

export class Run {
  constructor({ steps, read, written: words }) {
    this.words = { src: read, tgt: ["[SOS]", ...words], next: words };
    this.makers = new Map(steps.map((step) => [step.out, step]));
    this.steps = new Map(); // by path, operation and order
    let side = SIDES.src;
    for (const step of steps) {
      const { op, path, given, out } = step;
      side = /^(encoder|src)/.test(path) ? SIDES.src : /^(decoder|tgt|head)/.test(path) ? SIDES.tgt
        : SIDES[this.along(out, 2) ?? this.along(out, 1)] ?? side;
      let [key, n] = [`${path || side.toLowerCase()}:${op}`, 1];
      while (this.steps.has(key)) key = key.replace(/:.*/, `:${op}.${++n}`);
      const name = key.replace(/^(en|de)coder\.(blocks\.0\.)?/, "").replace(":", ": ");
      const makes = !MOVES.includes(op) || isLookup(step); // numbers, and moves none
      if (given.some(isTensor)) this.steps.set(key, { ...step, key, name, side, makes });
    }
    const tgt = steps.flatMap(({ given }) => given).find((x) => x?.name === "tgt");
    this.ids = new Map(words.map((word, t) => [tgt?.data[t + 1], word])); // of the words written
  }

  /** Say whose words lie along an axis, counted from the end: src, tgt or nobody's. */
  along(x, axis) {
    const n = isTensor(x) && axis <= x.shape.length && x.shape.at(-axis);
    const step = this.makers.get(x);
    if (!n || !step) return n && axis === 1 && x.name in SIDES ? x.name : undefined;
    const { op, given: [y, ...more] } = step;
    const place = x.shape.length - axis;
    const from = (i) => this.along(y, y.shape.length - i);
    if (op === "matmul" && axis === 1) return this.along(more[0], 1);
    if (isLookup(step)) return axis > 1 ? this.along(more[0], axis - 1) : undefined;
    const axes = more.map((one) => (one < 0 ? one + x.shape.length : one));
    if (op === "transpose") return from(axes[1 - axes.indexOf(place)] ?? place);
    if (op === "permute") return from(axes[place]);
    // An axis stays when as many numbers lie behind it.
    if (op === "view" || op === "reshape") return from(y.shape.findIndex((m, i) => m === n && behind(y.shape, i) === behind(x.shape, place)));
    return this.along([y, ...more].find((z) => isTensor(z) && z.shape.at(-axis) === n && this.along(z, axis)), axis);
  }

  /** Name what lies along an axis: words, in rows also that which is written next; or numbers. */
  labels(x, axis) {
    const side = this.along(x, axis);
    const next = side === "tgt" && axis === 2 ? this.words.next : [];
    return pairs(x.shape.at(-axis) ?? 1, (i) => (!side ? `${i}` : this.words[side][i] ?? "[PAD]")
      + (i in next ? ` → ${next[i]}` : ""));
  }

  /** Write what made a tensor as code, as far as it is the work of one module. */
  code(x, module, inner = false) {
    if (!x?.shape?.length) return String(isTensor(x) ? Number(x.data[0].toPrecision(3)) : x).replace("Infinity", "inf");
    const { op, path, given } = this.makers.get(x) ?? {};
    if (!op) return x.name?.split(".").at(-1) ?? "x";
    if (path && path !== module) return module ? path.replace(`${module}.`, "") : path;
    const parts = given.filter((y) => y !== null).map((y) => this.code(y, path, op in SIGNS || (inner && MOVES.includes(op))));
    if (isLookup({ op, given })) return `${parts[0]}[${parts[1]}]`;
    if (MOVES.includes(op)) return parts[0] + (op === "transpose" && given.includes(-1) ? ".T" : "");
    if (!(op in SIGNS)) return `${op}(${parts.join(", ")})`;
    const text = parts.join(` ${SIGNS[op]} `);
    return inner ? `(${text})` : text;
  }

  /** Tell how a number of a step was made. */
  made({ op, path, given, out, makes }, place) {
    if (op in MADE) return MADE[op](given, place);
    const [x, y] = given.map((one) => numberAt(one, place));
    const value = numberAt(out, place);
    const how = !makes ? `put here by ${op}`
      : op === "index" ? `row ${numberAt(given[1], place.slice(0, -1))} of the table`
        : op === "where" ? `the condition is ${x ? "true" : "false"}`
          : op in SIGNS ? `${written(x)} ${SIGNS[op]} ${written(y)}` : this.code(out, path);
    return { terms: [[value, 1]], value, given: how };
  }

  /** Find the first step that a clean run has not, or with other numbers, and where. */
  difference(clean) {
    for (const step of this.steps.values()) {
      const { out: { shape, data }, key, makes } = step;
      const other = clean.steps.get(key)?.out;
      const place = (at) => shape.map((n, axis) => Math.floor(at / behind(shape, axis)) % n);
      const at = other ? data.findIndex((x, i) => differ(x, numberAt(other, place(i)))) : makes - 1;
      if (at >= 0) return { step, place: place(at) };
    }
    return null;
  }
}
