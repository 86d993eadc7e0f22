/* The parts of the book's translator. Each is a line or two of the module's
 * tformer_lite/model, and says in which chapter it is derived. A bug is one of
 * them replaced. */

import { Tensor } from "./tensor.mjs";

export const parts = {
  /** Look words up, and scale: (B, T) -> (B, T, C). Chapter 2. */
  embed(ids, table) {
    return table.rows(ids).mul(Math.sqrt(table.shape[1]));
  },

  /** Add row t of a table to position t: (B, T, C). Chapter 3. */
  place(x, table) {
    return x.add(table.first(x.shape[1]));
  },

  /** Give each position's channels mean 0 and variance 1, then a gain and an
   * offset: (B, T, C). Chapter 9. */
  norm(x, gain, offset) {
    const deviation = x.variance(-1).add(1e-5).map(Math.sqrt);
    return x.sub(x.mean(-1)).div(deviation).mul(gain).add(offset);
  },

  /** Normalise, let a sublayer make a change of it, and add the change to what
   * came in: (B, T, C). `path` names the sum. Chapter 9. */
  residual(x, norm, sublayer, _path) {
    return x.add(sublayer(norm(x)));
  },

  /** Make queries of x, and keys and values of the source: (B, T, C) and
   * (B, S, C) -> (B, T, C), (B, S, C), (B, S, C). Chapter 4. */
  project(x, source, { query, key, value }) {
    return [query(x), key(source), value(source)];
  },

  /** Deal the channels out to the heads: (B, T, C) -> (B, H, T, D). Chapter 5. */
  split(x, heads) {
    const [b, t, c] = x.shape;
    return x.view(b, t, heads, c / heads).transpose(1, 2);
  },

  /** Compare each query with each key: (B, H, T, S). Chapter 6. */
  score(q, k) {
    return q.matmul(k.mT).div(Math.sqrt(q.shape.at(-1)));
  },

  /** Let everyone see every key that is not padding: (B, 1, 1, S). Chapter 7. */
  padding(ids, pad) {
    const [b, s] = ids.shape;
    return ids.map((id) => Number(id !== pad)).view(b, 1, 1, s);
  },

  /** Let position i see positions up to i: (1, 1, T, T). Chapter 7. */
  causal(t) {
    return Tensor.of([1, 1, t, t], (_b, _h, i, j) => Number(j <= i));
  },

  /** Add −∞ to the scores of what is hidden; a row without any key keeps its
   * scores: (B, H, T, S). Chapter 7. */
  hide(scores, mask) {
    const hidden = mask.zip(mask.max(-1), (seen, any) => any && !seen);
    return scores.zip(hidden, (score, no) => (no ? -Infinity : score));
  },

  /** Turn each row into shares that sum to 1, or into zeros if it has no key:
   * (B, H, T, S). Chapter 8. */
  weigh(masked, mask) {
    return masked.softmax(-1).mul(mask.max(-1));
  },

  /** Mix the values by the weights: (B, H, T, D). Chapter 8. */
  mix(weights, v) {
    return weights.matmul(v);
  },

  /** Lay the heads side by side again: (B, H, T, D) -> (B, T, C). Chapter 8. */
  join(heads) {
    const [b, h, t, d] = heads.shape;
    return heads.transpose(1, 2).view(b, t, h * d);
  },

  /** Mix the channels of all heads: (B, T, C). Chapter 8. */
  output(joined, linear) {
    return linear(joined);
  },

  /** Bend each hidden number: (B, T, F). Chapter 9. */
  activate(hidden) {
    return hidden.map((x) => Math.max(x, 0));
  },

  /** Hide padding from the encoder: (B, 1, 1, S). Chapter 10. */
  sourceMask(src, { padding }) {
    return padding(src);
  },

  /** Hide padding and the future from the decoder: (B, 1, T, T). Chapter 11. */
  targetMask(tgt, { padding, causal }) {
    return padding(tgt).mul(causal(tgt.shape[1]));
  },

  /** Hide padding of the source from the decoder: (B, 1, 1, S). Chapter 11. */
  memoryMask(src, _own, { padding }) {
    return padding(src);
  },

  /** Let the target attend to the source's memory: (B, T, C). Chapter 11. */
  cross(x, memory, mask, attend) {
    return attend(x, memory, mask);
  },

  /** Score each word that might come next: (B, T, C) -> (B, T, V).
   * Chapter 12. */
  head(states, linear) {
    return linear(states);
  },
};
