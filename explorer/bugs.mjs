/* The gallery's bugs, under its names: the part that each of them replaces. What
 * they are, and the line in PyTorch, stands in gallery. */

import { parts } from "./parts.mjs";
import { Tensor } from "./tensor.mjs";

const known = (x) => (Number.isNaN(x) ? 0 : x);
const over = (axis) => ({
  weigh: (masked, mask) => masked.softmax(axis).map(known).mul(mask.max(-1)),
});
const causal = (rule) => ({
  causal: (t) => Tensor.of([1, 1, t, t], (_b, _h, i, j) => Number(rule(i, j))),
});
const norm = (normal) => ({
  norm: (x, gain, offset) => normal(x).mul(gain).add(offset),
});
/** Change the sum behind each self-attention. */
const firstSum = (change) => ({
  residual: (x, normed, sublayer, path) =>
    (path.endsWith("sums.0") ? change : parts.residual)(x, normed, sublayer),
});
const centre = (x, axis) => x.sub(x.mean(axis));
const std = (x, axis) => x.variance(axis, 1).map(Math.sqrt); // PyTorch's

export const bugs = {
  // From scores to weights.
  no_scale: { score: (q, k) => q.matmul(k.mT) },
  scaled_by_all_channels: {
    score: (q, k) => q.matmul(k.mT).div(Math.sqrt(q.shape.at(-1) * q.shape.at(-3))),
  },
  softmax_over_queries: over(-2),
  softmax_over_heads: over(1),
  softmax_over_batch: over(0),
  loud_scores: {
    weigh: (masked, mask) => {
      const exps = masked.map(Math.exp);
      return exps.div(exps.sum(-1)).mul(mask.max(-1));
    },
  },
  mask_after_softmax: {
    hide: (scores) => scores,
    weigh: (scores, mask) => scores.softmax(-1).mul(mask),
  },
  mask_upside_down: {
    hide: (scores, mask) => parts.hide(scores, mask.map((seen) => 1 - seen)),
    weigh: (masked, mask) => parts.weigh(masked, mask.map((seen) => 1 - seen)),
  },
  mask_of_nearly_zero: {
    hide: (scores, mask) => parts.hide(scores, mask).map((x) => (x === -Infinity ? -1e-9 : x)),
  },

  // Projections and heads.
  heads_split_by_view: {
    split: (x, heads) => x.view(x.shape[0], heads, x.shape[1], x.shape[2] / heads),
  },
  heads_joined_by_view: {
    join: (x) => x.view(x.shape[0], x.shape[2], x.shape[1] * x.shape[3]),
  },
  key_not_projected: {
    project: (x, source, { query, value }) => [query(x), source, value(source)],
  },
  key_for_value: {
    project: (x, source, { query, key }) => [query(x), key(source), key(source)],
  },
  no_output_projection: { output: (joined) => joined },

  // Masks.
  triangle_turned_over: causal((i, j) => j >= i),
  one_step_ahead: causal((i, j) => j <= i + 1),
  first_word_alone: causal((_, j) => j < 1),
  no_causal_mask: { targetMask: (tgt, { padding }) => padding(tgt) },
  rows_hidden: {
    padding: (ids, pad) => {
      const seen = parts.padding(ids, pad).mT;
      return seen.expand(seen.shape.with(-1, ids.shape[1]));
    },
  },
  padding_is_zero: { padding: (ids) => parts.padding(ids, 0) },
  encoder_without_mask: {
    sourceMask: (src, { padding }) => padding(src).map(() => 1),
  },
  memory_without_mask: {
    memoryMask: (src, _own, { padding }) => padding(src).map(() => 1),
  },
  memory_masked_as_target: { memoryMask: (_src, own) => own },
  memory_masked_causally: {
    memoryMask: (src, own, { padding, causal: triangle }) =>
      padding(src).mul(triangle(own.shape.at(-1))),
  },

  // Positions, norms, residual connections.
  no_positions: { place: (x) => x },
  position_of_the_row: {
    place: (x, table) => x.add(table.first(x.shape[0]).view(x.shape[0], 1, x.shape[2])),
  },
  one_position_for_all: {
    place: (x, table) => {
      const [, t, c] = x.shape;
      return x.add(new Tensor(table.data.slice((t - 1) * c, t * c), [c]));
    },
  },
  norm_over_time: norm((x) => centre(x, 1).div(std(x, 1).add(1e-5))),
  norm_over_sentence: norm((x) => {
    const [b, t, c] = x.shape;
    const whole = x.view(b, t * c);
    return centre(whole, 1).div(std(whole, 1)).view(b, t, c);
  }),
  norm_squared: norm((x) => centre(x, -1).div(x.variance(-1).add(1e-5).map((v) => v * v))),
  norm_made_anew: {
    norm: (x) => centre(x, -1).div(x.variance(-1).add(1e-5).map(Math.sqrt)),
  },
  sum_ignored: firstSum((x, normed, sublayer) => {
    sublayer(normed(x));
    return normed(x);
  }),
  sublayer_twice: firstSum((x, normed, sublayer) => {
    const change = sublayer(normed(x));
    return change.add(change);
  }),
  residual_normed: firstSum((x, normed, sublayer) => normed(x).add(sublayer(normed(x)))),

  // The whole model.
  source_never_read: {
    cross: (x, _memory, mask, attend) => attend(x, x, mask),
  },
  roles_reversed: {
    cross: (x, memory, mask, attend) => attend(memory, x, mask),
  },
  softmax_at_the_end: {
    head: (states, linear) => linear(states).softmax(-1),
  },
};
