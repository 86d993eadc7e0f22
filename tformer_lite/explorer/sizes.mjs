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

/** List the names in a formula; C is H and D. */
export function namesIn(text) {
  const names = tokens(text).filter((token) => /^[\p{L}_]/u.test(token));
  return new Set(names.flatMap((name) => (name === "C" ? ["H", "D"] : name)));
}

/** Add C, the channels, to sizes. */
export const withChannels = (sizes) => ({ ...sizes, C: sizes.H * sizes.D });

/** A number that is so many times a product: of a shape, of work, of bytes. */
class Line {
  constructor(path, texts, times) {
    Object.assign(this, { path, texts, times });
    this.factors = texts.map(formula);
    this.counted = formula(times);
  }

  /** How much it is in one block. */
  one(sizes) {
    return this.factors.reduce((product, factor) => product * factor(sizes), 1);
  }

  /** How much it is in all layers. */
  all(sizes) {
    return this.one(sizes) * this.counted(sizes);
  }
}

/** What a preset needs, by kind: lines that can be worked out. `steps` are
 * those of a run, each with its shapes. */
export class Costs {
  constructor({ steps, parameters, activations, cache }) {
    const lines = (some) => some.map(([path, text, times]) => new Line(path, text.split(" "), times));
    const working = steps.filter((step) => step.flops);
    this.lines = {
      parameters: lines(parameters),
      flops: working.map(({ path, flops, times }) => new Line(path, [flops], times)),
      activations: lines(activations),
      cache: lines(cache),
    };
    this.steps = steps.map(({ path, call, shapes, flops, times }) => ({
      path, call, times, text: flops,
      shapes: shapes.map((shape) => shape.map((text) => ({ text, size: formula(text) }))),
      flops: formula(flops ?? "0"),
    }));
  }

  /** Add up all of a kind, in the modules that `inside` says. */
  total(kind, sizes, inside = () => true) {
    return this.lines[kind].filter(({ path }) => inside(path))
      .reduce((sum, line) => sum + line.all(sizes), 0);
  }

  /** Add up all four kinds. */
  totals(sizes) {
    return Object.fromEntries(Object.keys(this.lines).map((kind) => [kind, this.total(kind, sizes)]));
  }

  /** List the sizes that a kind depends on. */
  dependsOn(kind) {
    const texts = this.lines[kind].flatMap(({ texts, times }) => [...texts, times]);
    return new Set(texts.flatMap((text) => [...namesIn(text)]));
  }
}
