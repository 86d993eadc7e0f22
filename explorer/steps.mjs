/* What a run of the translator computed, step by step, and how each number came
 * about: the products that were added up, and what was done to their sum. */

import { parts } from "./parts.mjs";
import { pairs, share, sum } from "./sums.mjs";

const BLOCKS = {
  encoder: ["self_attention", "feed_forward"],
  decoder: ["self_attention", "cross_attention", "feed_forward"],
};
const INPUT = { encoder: "src_embedding", decoder: "tgt_embedding" };

/** Find the first step whose numbers two runs do not share, and the first such
 * place in it: an index for each axis. */
export function firstDifference(right, wrong) {
  for (const [path, { data, shape }] of right.values) {
    const other = wrong.values.get(path)?.data ?? data; // a step may be left out
    const at = data.findIndex((x, i) => x !== other[i] && !(Math.abs(x - other[i]) < 1e-9));
    if (at >= 0) return { path, place: placeOf(at, shape) };
  }
  return null;
}

function placeOf(at, shape) {
  const place = [];
  for (const n of [...shape].reverse()) {
    place.unshift(at % n);
    at = Math.floor(at / n);
  }
  return place;
}

/* Each kind of step: the end of its path, its line of code, its axes (T is the
 * side's own, S the other's), and how a cell of it is made: in words, and as
 * `terms`, pairs whose products are added up; `then` is done to the sum, or the
 * `larger` of it and 0 is taken. */
const KINDS = [
  {
    end: "_embedding.tokens", code: "tokens[ids] * sqrt(C)", axes: "BTC",
    says: "the token's row of the table, times √C",
    make({ run, side, path }, [b, t, c]) {
      const table = run.model.parameters[`${path}.weight`];
      const id = run.ids[INPUT[side]].at(b, t);
      return sum([[table.at(id, c), Math.sqrt(table.shape[1])]]);
    },
  },
  {
    end: "_embedding.positions", code: "x + table[:T]", axes: "BTC",
    says: "the token's number, and the position's",
    make({ run, side, path }, [b, t, c]) {
      const x = run.values.get(`${INPUT[side]}.tokens`).at(b, t, c);
      return sum([[x, 1], [run.model.parameters[`${path}.table`].at(t, c), 1]]);
    },
  },
  {
    end: /norms?(\.\d)?$/, code: "(x - mean) / sqrt(variance + 1e-5) * gain + offset", axes: "BTC",
    says: "less the row's mean, divided by its deviation, times a gain, plus an offset",
    make({ run, path, input }, [b, t, c]) {
      const row = line(input, b, t);
      const mean = row.reduce((a, x) => a + x, 0) / row.length;
      const squares = row.reduce((a, x) => a + (x - mean) ** 2, 0);
      const deviation = Math.sqrt(squares / row.length + 1e-5);
      const [gain, offset] = ["weight", "bias"].map(
        (name) => run.model.parameters[`${path}.${name}`].at(c));
      return sum([[row[c], 1], [-mean, 1]], (x) => (x / deviation) * gain + offset,
        ["÷", deviation, "×", gain, "+", offset]);
    },
  },
  { end: "query", code: "x @ query.T", axes: "BTC", make: linear },
  { end: "key", code: "x @ key.T", axes: "BSC", make: linear },
  { end: "value", code: "x @ value.T", axes: "BSC", make: linear },
  { end: ":q", code: "split_heads(query)", axes: "BHTD", make: split("query") },
  { end: ":k", code: "split_heads(key)", axes: "BHSD", make: split("key") },
  { end: ":v", code: "split_heads(value)", axes: "BHSD", make: split("value") },
  {
    end: ":scores", code: "q @ k.T / sqrt(D)", axes: "BHTS",
    says: "query times key, channel by channel, divided by √D",
    make({ q, k }, [b, h, t, s]) {
      const root = Math.sqrt(q.shape[3]);
      return sum(pairs(q.shape[3], (d) => [q.at(b, h, t, d), k.at(b, h, s, d)]),
        (x) => x / root, ["÷", root]);
    },
  },
  {
    end: ":masked", code: "scores.masked_fill(~mask, -inf)", axes: "BHTS",
    make({ run, side, scores, path }, [b, h, t, s]) {
      const own = path.includes("self_attention");
      const keys = run.ids[INPUT[own ? side : "encoder"]];
      const why = keys.at(b, s) === run.model.pad ? "padding is hidden"
        : side === "decoder" && own && s > t ? "what comes later is hidden" : "";
      const x = scores.at(b, h, t, s);
      return why ? { terms: [[x, 1]], then: [], value: -Infinity, why } : { ...sum([[x, 1]]), says: "not hidden" };
    },
  },
  {
    end: ":weights", code: "softmax(masked)", axes: "BHTS",
    make: ({ masked }, [b, h, t, s]) => share(line(masked, b, h, t), s),
  },
  {
    end: ":heads", code: "weights @ v", axes: "BHTD",
    says: "weights times values, word by word",
    make({ weights, v }, [b, h, t, d]) {
      return sum(pairs(v.shape[2], (s) => [weights.at(b, h, t, s), v.at(b, h, s, d)]));
    },
  },
  { end: "attention.output", code: "join_heads(heads) @ output.T", axes: "BTC", make: linear },
  { end: ".hidden", code: "x @ hidden.T", axes: "BTF", make: linear },
  {
    end: ":hidden", code: "relu(hidden)", axes: "BTF",
    make({ input }, place) {
      const made = sum([[input.at(...place), 1]], (x) => Math.max(x, 0));
      return { ...made, larger: true };
    },
  },
  { end: "forward.output", code: "hidden @ output.T", axes: "BTC", make: linear },
  {
    end: /sums\.\d$/, code: "x + sublayer(norm(x))", axes: "BTC",
    says: "what came in, and the change",
    make: ({ input, change }, place) => sum([[input.at(...place), 1], [change.at(...place), 1]]),
  },
  { end: "head", code: "x @ head.T", axes: "BTV", make: linear },
];

/** Tell which kind of step a path is. */
export function kindOf(path) {
  return KINDS.find(({ end }) => (end.test ? end.test(path) : path.endsWith(end)));
}

/** Name the axes of a step: inside an attention T and S; outside of it the
 * encoder's positions are S, the decoder's T. */
export function axesOf(path) {
  const { axes } = kindOf(path);
  const own = sideOf(path) === "encoder" || axes.length === 3 && /cross.*\.(key|value)$/.test(path);
  return axes.length === 4 ? axes : axes.replace(/[TS]/, own ? "S" : "T");
}

/** Write out how a cell was made: pairs to multiply and add, what is then done
 * to the sum (signs and numbers), and what comes out. */
export function arithmetic(run, path, place) {
  const kind = kindOf(path);
  const says = kind.make === linear ? "a row times a column of the matrix" : kind.says;
  return { says, ...kind.make(context(run, path), place) };
}

/** Tell whether a step belongs to the encoder or to the decoder. */
export function sideOf(path) {
  return /^(encoder|src)/.test(path) ? "encoder" : "decoder";
}

/** Collect what a step is made of: the values of its own attention, by name, or
 * its input. */
function context(run, path) {
  const get = (name) => run.values.get(name);
  const side = sideOf(path);
  const [, block, sublayer] = /^(.*blocks\.0)\.(\w+?_attention|feed_forward)/.exec(path) ?? [];
  const own = block && Object.fromEntries(["q", "k", "v", "scores", "masked", "weights", "heads"]
    .map((name) => [name, get(`${block}.${sublayer}:${name}`)]));
  return { run, side, path, ...own, ...inputs(get, side, path, block, sublayer) };
}

/** Find what a step reads, and for a residual connection also its change. */
function inputs(get, side, path, block, sublayer) {
  const before = (n) => get(n ? `${side}.blocks.0.sums.${n - 1}` : `${INPUT[side]}.positions`);
  const normed = (name) => get(`${block}.norms.${BLOCKS[side].indexOf(name)}`);
  const number = /sums\.(\d)/.exec(path)?.[1];
  if (number) {
    const change = get(`${path.replace(/sums.*/, BLOCKS[side][number])}.output`);
    return { input: before(Number(number)), change };
  }
  const norm = /norms\.(\d)/.exec(path)?.[1];
  if (norm) return { input: before(Number(norm)) };
  if (path.endsWith("norm")) return { input: before(BLOCKS[side].length) };
  if (path === "head") return { input: get("decoder.norm") };
  if (/cross_attention\.(key|value)$/.test(path)) return { input: get("encoder.norm") };
  if (path.endsWith("attention.output")) return { input: parts.join(get(`${block}.${sublayer}:heads`)) };
  if (path.endsWith(":hidden")) return { input: get(path.replace(":", ".")) };
  if (path.endsWith("forward.output")) return { input: get(`${block}.${sublayer}:hidden`) };
  return { input: sublayer && normed(sublayer) };
}

/** Give the numbers of a row: all indices but the last. */
function line(x, ...place) {
  return Array.from({ length: x.shape.at(-1) }, (_, i) => x.at(...place, i));
}

function linear({ run, path, input }, [b, t, i]) {
  const weight = run.model.parameters[`${path}.weight`];
  return sum(pairs(weight.shape[1], (c) => [input.at(b, t, c), weight.at(i, c)]));
}

/** Find a head's channel among those of all. */
function split(name) {
  return ({ run, path, q }, [b, h, t, d]) => {
    const whole = run.values.get(path.replace(/:.$/, `.${name}`));
    return sum([[whole.at(b, t, h * q.shape[3] + d), 1]]);
  };
}
