/* Checks that know no right model: each disturbs a model a little, looks at what
 * moves, and says what it noticed, or nothing. Names are those of
 * shapewatch/properties; chapter 15 explains them. */

import { run } from "./steps.mjs";
import { Tensor, ids } from "./tensor.mjs";

/** What the checks read: any words would do. An unknown word (0) is among them,
 * and no target is longer than its source. */
export const sentences = {
  src: ids([[2, 20, 31, 0, 45, 4, 3, 1], [2, 52, 63, 74, 4, 3, 1, 1]]),
  tgt: ids([[2, 30, 41, 52, 4, 3, 1, 1], [2, 33, 60, 4, 3, 1, 1, 1]]),
};
const TABLES = {
  source: "src_embedding.tokens.weight",
  target: "tgt_embedding.tokens.weight",
};

export const checks = {
  causality: {
    asks: "Do the scores at a position stay when later words change?",
    notice(model, { src, tgt }) {
      const before = model.forward(src, tgt);
      for (let s = 1; s < tgt.shape[1]; s++) {
        const later = Tensor.of(tgt.shape, (b, t) =>
          tgt.at(b, t) + Number(t >= s && tgt.at(b, t) > 3));
        const seen = firstMove(before, model.forward(src, later), (b, t) => t < s);
        if (seen) return `With other words from position ${s} on, ${scoresAt(seen)}.`;
      }
      return "";
    },
  },
  padding_invariance: {
    asks: "Do the scores stay when padding gets another vector?",
    notice(model, { src, tgt }) {
      const before = model.forward(src, tgt);
      for (const [side, name] of Object.entries(TABLES)) {
        const table = pushed(model.parameters[name], (row) => row === model.pad);
        const after = having(model, { [name]: table }).forward(src, tgt);
        const seen = firstMove(before, after, (b, t) => tgt.at(b, t) !== model.pad);
        if (seen) return `With another vector for ${side} padding, ${scoresAt(seen)}.`;
      }
      return "";
    },
  },
  batch_independence: {
    asks: "Does a sentence give alone what it gives beside others?",
    notice(model, { src, tgt }) {
      const together = model.forward(src, tgt);
      for (let n = 0; n < src.shape[0]; n++) {
        const one = (x) => Tensor.of([1, x.shape[1]], (_, t) => x.at(n, t));
        const alone = model.forward(one(src), one(tgt));
        const twice = Tensor.of(together.shape, (_b, t, v) => alone.at(0, t, v));
        const seen = firstMove(together, twice, (b, t) => b === n && tgt.at(b, t) !== model.pad);
        if (seen) return `Alone, ${scoresAt(seen)}.`;
      }
      return "";
    },
  },
  order_sensitivity: {
    asks: "Is it noticed elsewhere when two words change places?",
    notice(model, { src, tgt }) {
      const before = model.forward(src, tgt);
      const swap = (x) => Tensor.of(x.shape, (b, t) => x.at(b, t < 2 ? 1 - t : t));
      const after = {
        source: model.forward(swap(src), tgt),
        target: model.forward(src, swap(tgt)),
      };
      const still = Object.keys(after).find((side) =>
        !firstMove(before, after[side], (_, t) => side === "source" || t > 1));
      return still ? `The first two words of the ${still} change places, and no other `
        + "position's scores move." : "";
    },
  },
  source_coverage: {
    asks: "Does every position depend on the source, and give a weight to each word of it?",
    notice(model, { src, tgt }) {
      const table = pushed(model.parameters[TABLES.source]);
      const [one, other] = [model, having(model, { [TABLES.source]: table })]
        .map((each) => run(each, src, tgt).values);
      const query = "decoder.blocks.0.cross_attention:q";
      const [q, asked] = [one.get(query), other.get(query)];
      if (far(q.data, asked.data)) return "With another source, the queries that ask it are others.";
      const moves = movesOf(lastOf(one), lastOf(other));
      const still = moves.find(({ b, t, by }) => !by && tgt.at(b, t) !== model.pad);
      if (still) return `With another source, the scores at ${placed(still)} stay.`;
      const most = one.get("decoder.blocks.0.cross_attention:weights").max(1);
      const missed = placesOf(most.shape).find(([b, _h, t, s]) => !(most.at(b, 0, t, s) > 0)
        && tgt.at(b, t) !== model.pad && src.at(b, s) !== model.pad);
      return missed ? `Position ${missed[2]} of sentence ${missed[0]} gives no weight to `
        + `source position ${missed[3]}, in any head.` : "";
    },
  },
  weight_rows: {
    asks: "Does each row of the attention's weights sum to 1?",
    notice(model, { src, tgt }) {
      for (const [path, weights] of ending(run(model, src, tgt), ":weights")) {
        const sums = weights.sum(-1); // of a row with nobody to attend to: 0
        const wrong = sums.data.find((sum) => sum !== 0 && !(Math.abs(sum - 1) < 1e-6));
        if (wrong !== undefined) return `In ${plain(path)}, a row sums to ${rounded(wrong)}.`;
      }
      return "";
    },
  },
  score_scale: {
    asks: "Would queries and keys of variance 1 give scores of variance 1?",
    notice(model, { src, tgt }) {
      const { values } = run(model, src, tgt);
      for (const [path, scores] of ending({ values }, ":scores")) {
        const [q, k] = ["q", "k"].map((name) => values.get(path.replace("scores", name)));
        const products = q.matmul(k.mT);
        const scale = total(scores.mul(products)) / total(products.mul(products));
        const variance = scale ** 2 * q.shape.at(-1);
        if (!(variance > 0.8 && variance < 1.25)) {
          return `In ${plain(path)}, the variance would be ${rounded(variance)}.`;
        }
      }
      return "";
    },
  },
  norm_statistics: {
    asks: "Does each norm, without its gains, give each position a mean square of 1?",
    notice(model, { src, tgt }) {
      const gains = changing(model, /norms?(\.\d)?\.weight$/, (x) => x.map(() => 1));
      const offsets = changing(model, /norms?(\.\d)?\.bias$/, (x) => x.map(() => 0));
      const bare = run(having(model, { ...gains, ...offsets }), src, tgt);
      for (const [path, x] of ending(bare, /norms?(\.\d)?$/)) {
        const wrong = x.mul(x).mean(-1).data.find((square) => !(square > 0.9 && square < 1.1));
        if (wrong !== undefined) return `After ${plain(path)}, a position has ${rounded(wrong)}.`;
      }
      return "";
    },
  },
  identity: {
    asks: "Does a block whose layers give 0 hand on what came in?",
    notice(model, { src, tgt }) {
      const silent = changing(model, /blocks.*(attention|forward)/, (x) => x.map(() => 0));
      let before;
      for (const [path, x] of run(having(model, silent), src, tgt).values) {
        if (path.endsWith("positions")) before = x;
        if (!/sums\.\d$/.test(path)) continue;
        const by = far(before.data, x.data);
        if (by) return `After ${plain(path)}, numbers are off by ${rounded(by)}.`;
        before = x;
      }
      return "";
    },
  },
  provenance: {
    asks: "Do the numbers of a word stay with it, in the heads and behind them?",
    notice(model, { src, tgt }) {
      const open = changing(model, /attention\.output/, (x) =>
        Tensor.of(x.shape, (i, j) => Number(i === j)));
      const { values } = run(having(model, open), src, tgt);
      for (const [path, heads] of values) {
        const [, attention, name] = /^(.*attention):(q|k|v|heads)$/.exec(path) ?? [];
        const whole = values.get(`${attention}.${BESIDE[name]}`);
        const lost = whole && strayed(heads, whole);
        if (lost) return `In ${plain(path)}, ${placed(lost)} has numbers of other words.`;
      }
      return "";
    },
  },
  live_parameters: {
    asks: "Does every parameter change something?",
    notice(model, { src, tgt }) {
      const before = model.forward(src, tgt);
      const names = Object.keys(model.parameters);
      const dead = names.filter((name) => {
        const other = having(model, { [name]: pushed(model.parameters[name]) });
        return !far(before.data, other.forward(src, tgt).data);
      });
      return dead.length ? `${dead.length} of ${names.length} change nothing: the first is `
        + `${plain(dead[0])}.` : "";
    },
  },
  finite: {
    asks: "Are all scores numbers, also with parameters 30 times as large?",
    notice(model, { src, tgt }) {
      const loud = having(model, changing(model, /./, (x) => x.map((w) => 30 * w)));
      const { data } = loud.forward(src, tgt);
      const lost = data.filter((x) => !Number.isFinite(x)).length;
      return lost ? `${lost} of ${data.length} are NaN or infinite.` : "";
    },
  },
  logits: {
    asks: "Are the scores still scores, and no shares that sum to 1?",
    notice(model, { src, tgt }) {
      const scores = model.forward(src, tgt);
      const shares = scores.data.every((x) => x >= 0)
        && scores.sum(-1).data.every((sum) => Math.abs(sum - 1) < 1e-3);
      return shares ? "Each position's scores sum to 1: the softmax is already done." : "";
    },
  },
};

/* Which step a head's numbers are compared with. */
const BESIDE = { q: "query", k: "key", v: "value", heads: "output" };

/** Give the model some other parameters, by name. */
function having(model, others) {
  const parameters = { ...model.parameters, ...others };
  return Object.assign(Object.create(Object.getPrototypeOf(model)), model, { parameters });
}

/** Change the parameters whose names fit: {name: tensor}. */
function changing(model, which, change) {
  return Object.fromEntries(Object.entries(model.parameters)
    .filter(([name]) => which.test(name)).map(([name, x]) => [name, change(x)]));
}

/** Push the rows of a matrix, each number another way. */
function pushed({ data, shape }, which = () => true) {
  const width = shape.at(-1);
  return new Tensor(data.map((x, i) =>
    (which(Math.floor(i / width)) ? x + Math.sin(i + 1) : x)), shape);
}

/** Give the largest difference of two lists, or 0 if it is rounding. */
function far(one, other) {
  let [most, size] = [0, 0];
  one.forEach((x, i) => {
    most = Math.max(most, Math.abs(x - other[i]));
    size = Math.max(size, Math.abs(x));
  });
  return most <= 1e-9 * size ? 0 : most;
}

/** Say for each sentence and position how far its scores moved. */
function movesOf(before, after) {
  const [rows, t, v] = before.shape;
  return Array.from({ length: rows * t }, (_, i) => ({
    b: Math.floor(i / t), t: i % t,
    by: far(...[before, after].map(({ data }) => data.subarray(i * v, (i + 1) * v))),
  }));
}

/** Find the first that moved, of those that `counts` names. */
function firstMove(before, after, counts) {
  return movesOf(before, after).find(({ b, t, by }) => by && counts(b, t));
}

/** Find a word whose row in the heads holds other numbers than in the whole. */
function strayed(heads, whole) {
  const [, h, , d] = heads.shape;
  const numbers = (n, f) => Float64Array.from({ length: n }, (_, i) => f(i)).sort();
  return movesOf(whole, whole).find(({ b, t }) => far(
    numbers(h * d, (i) => heads.at(b, Math.floor(i / d), t, i % d)),
    numbers(h * d, (i) => whole.at(b, t, i))));
}

/** List the steps whose paths end so. */
function ending({ values }, end) {
  return [...values].filter(([path]) => (end.test ? end.test(path) : path.endsWith(end)));
}

/** List all places of a shape: an index for each axis. */
function placesOf(shape) {
  const places = [];
  Tensor.of(shape, (...place) => places.push(place));
  return places;
}

const lastOf = (values) => [...values.values()].at(-1);
const total = ({ data }) => data.reduce((a, b) => a + b, 0);
const placed = ({ b, t }) => `position ${t} of sentence ${b}`;
const scoresAt = (seen) => `the scores at ${placed(seen)} move by ${rounded(seen.by)}`;
const rounded = (x) => `${Number(x.toPrecision(2))}`;
const plain = (path) => path.replace("blocks.0.", "").replace(/(sum|norm)s\.(\d)/, (_, part, n) =>
  `${part} ${Number(n) + 1}`).replace(/[.:_]/g, " ");
