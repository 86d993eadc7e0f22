/* What a model needs at any sizes: formulas such as 2B*T*C*F, as the tracer
 * writes them, read once and then worked out as often as one likes. */

const TOKEN = /\s*(\d+|[\p{L}_][\p{L}\d_]*|[-+*/()⌈⌉⌊⌋])/uy;
const BRACKETS = { "(": [")", (x) => x], "⌈": ["⌉", Math.ceil], "⌊": ["⌋", Math.floor] };

/** Cut a formula into numbers, names and signs. */
function tokens(text) {
  const found = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[1];
    if (!token) throw new Error(`${text}: what does ${text.slice(at)} mean?`);
    found.push(token);
  }
  return found;
}

/** Read a formula: a function of sizes, given by name. A number and what
 * follows it are a product: 2B*T is 2 times B times T. */
export function formula(text) {
  const rest = tokens(text);

  function sum() {
    let left = product();
    while (rest[0] === "+" || rest[0] === "-") {
      const [sign, before] = [rest.shift() === "+" ? 1 : -1, left];
      const right = product();
      left = (sizes) => before(sizes) + sign * right(sizes);
    }
    return left;
  }

  function product() {
    let left = factor();
    while (rest.length && !/^[-+)⌉⌋]$/.test(rest[0])) {
      const before = left;
      const divides = rest[0] === "/";
      if (divides || rest[0] === "*") rest.shift();
      const right = factor();
      left = divides ? (sizes) => before(sizes) / right(sizes)
        : (sizes) => before(sizes) * right(sizes);
    }
    return left;
  }

  function factor() {
    const token = rest.shift() ?? "";
    if (token === "-") {
      const negated = factor();
      return (sizes) => -negated(sizes);
    }
    if (token in BRACKETS) {
      const [end, rounded] = BRACKETS[token];
      const inside = sum();
      if (rest.shift() !== end) throw new Error(`${text}: ${token} needs a ${end}.`);
      return (sizes) => rounded(inside(sizes));
    }
    if (/^\d/.test(token)) return () => Number(token);
    if (/^[\p{L}_]/u.test(token)) return (sizes) => known(sizes, token, text);
    throw new Error(`${text}: a number or a letter is missing.`);
  }

  const whole = sum();
  if (rest.length) throw new Error(`${text}: ${rest[0]} is one too many.`);
  return whole;
}

function known(sizes, name, text) {
  if (!(name in sizes)) throw new Error(`${text}: ${name} has no size.`);
  return sizes[name];
}

/** List the names in a formula. */
export const namesIn = (text) => tokens(text).filter((token) => /^[\p{L}_]/u.test(token));

/** A number that is so many times a product, of a shape, of work, of bytes:
 * `each` times in every layer, and `rest` times more. */
class Line {
  constructor(path, texts, { each, rest }) {
    Object.assign(this, { path, texts, each, rest });
    this.factors = texts.map(formula);
  }

  /** How much it is once. */
  once(sizes) {
    return this.factors.reduce((product, factor) => product * factor(sizes), 1);
  }

  /** How much it is in one block. */
  one(sizes) {
    return this.once(sizes) * (this.each || 1);
  }

  /** How often it is there. */
  counted(sizes) {
    return this.each * sizes.n_layers + this.rest;
  }

  /** How much it is in all layers. */
  all(sizes) {
    return this.once(sizes) * this.counted(sizes);
  }
}

const FEW = 3; // layers that may be others than the rest

/** Give what says how often a line is there, which was counted in a model of
 * so many layers: in all of them, in all but a few, or in a few. `odd` says how
 * few; where they are many, nobody knows which of the layers would be more. */
function layerRule(lines, layers) {
  const rule = ([path, , times], fixed) => {
    const each = path.includes("*") && !fixed ? Math.round(times / layers) : 0;
    return { each, rest: times - each * layers };
  };
  const inside = lines.filter(([path]) => path.includes("*"));
  const odd = Math.max(0, ...inside.map((line) => Math.abs(rule(line).rest)));
  return { odd, rule: (line) => rule(line, odd > FEW) };
}

/** What a preset needs, by kind: lines that can be worked out. `own` are the
 * sizes that can be chosen, `follows` says how others are made of them, and
 * `steps` are those of a run, each with its shapes. */
export class Costs {
  constructor({ dims, layers, least, steps, parameters, activations, active, cache }) {
    const work = steps.map(({ path, flops = "0", times }) => [path, flops, times]);
    const { odd, rule } = layerRule([...parameters, ...work], layers);
    const lines = (some = [], ...first) => some.map((line) =>
      new Line(line[0], [...first, ...line[1].split(" ")], rule(line)));
    this.layers = layers;
    this.steps = steps.map(({ call, shapes, flops }, i) =>
      Object.assign(new Line(work[i][0], [work[i][1]], rule(work[i])), {
        call, text: flops,
        shapes: shapes.map((shape) => shape.map((text) => ({ text, size: formula(text) }))),
      }));
    const all = Object.entries(odd > FEW ? dims : { n_layers: layers, ...dims });
    this.own = Object.fromEntries(all.filter(([, size]) => Number.isInteger(size)));
    this.follows = all.filter(([, size]) => !Number.isInteger(size))
      .map(([name, text]) => ({ name, text, size: formula(text) }));
    this.least = { n_layers: Math.max(odd, 1), ...least };
    this.most = mostPositions(parameters, this.own);
    this.width = activations ? 4 : 2; // bytes of a number
    this.lines = {
      parameters: lines(parameters),
      flops: this.steps.filter(({ text }) => text),
      activations: lines(activations),
      cache: lines(cache, `${this.width}`),
      active: lines(active),
    };
  }

  /** Add the sizes that follow from those that are chosen. */
  every(sizes) {
    const all = { n_layers: this.layers, ...sizes };
    for (const { name, size } of this.follows) all[name] = size(all);
    return all;
  }

  /** List the kinds that were counted, and are not nothing. */
  get kinds() {
    return Object.keys(this.lines).filter((kind) => this.lines[kind].length);
  }

  /** Add up all of a kind, in the lines that `inside` says: in `all` layers,
   * or in `one`. */
  total(kind, sizes, inside = () => true, where = "all") {
    return this.lines[kind].filter(inside).reduce((sum, line) => sum + line[where](sizes), 0);
  }

  /** Add up all kinds. */
  totals(sizes) {
    return Object.fromEntries(this.kinds.map((kind) => [kind, this.total(kind, sizes)]));
  }

  /** List the sizes that a kind depends on. */
  dependsOn(kind) {
    const lines = this.lines[kind];
    const names = new Set(lines.flatMap(({ texts }) => texts).flatMap(namesIn));
    if (lines.some(({ each }) => each)) names.add("n_layers");
    for (const { name, text } of [...this.follows].reverse()) {
      if (names.has(name)) for (const other of namesIn(text)) names.add(other);
    }
    return names;
  }
}

/** Where a model has learned its positions, there are no more than these. */
function mostPositions(parameters, { T }) {
  const learned = parameters.map(([path, text]) => /pos|wpe/.test(path) && /^\d+(?= \w+$)/.exec(text));
  const most = learned.find(Boolean);
  return most ? { [T ? "T" : "S"]: Number(most[0]) } : {};
}
