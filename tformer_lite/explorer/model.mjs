/* The book's translator: each function is a line or two of the module's
 * tformer_lite/model, in the same order and under the same names. A bug is one
 * of these functions replaced. */

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

  /** Map the channels, x Wᵀ: (..., C) -> (..., F). Chapter 4. */
  linear(x, weight) {
    return x.matmul(weight.mT);
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

  /** Give what may not be attended to the score −∞: (B, H, T, S). Chapter 7. */
  hide(scores, mask) {
    return scores.zip(mask, (score, seen) => (seen ? score : -Infinity));
  },

  /** Turn each row of scores into shares: (B, H, T, S). Chapter 8. */
  weigh(masked) {
    return masked.softmax(-1);
  },

  /** Mix the values by the weights: (B, H, T, D). Chapter 8. */
  mix(weights, v) {
    return weights.matmul(v);
  },

  /** Lay the heads side by side again: (B, H, T, D) -> (B, T, C). Chapter 8. */
  join(mixed) {
    const [b, h, t, d] = mixed.shape;
    return mixed.transpose(1, 2).view(b, t, h * d);
  },

  /** Bend each hidden number: (B, T, F). Chapter 9. */
  activate(hidden) {
    return hidden.map((x) => Math.max(x, 0));
  },

  /** Give each position's channels mean 0 and deviation 1, a gain and an
   * offset; the deviation is the unbiased one: (B, T, C). Chapter 9. */
  norm(x, gain, offset) {
    const centred = x.sub(x.mean(-1));
    const variance = centred.mul(centred).sum(-1).div(x.shape.at(-1) - 1);
    const normal = centred.div(variance.map(Math.sqrt).add(1e-7));
    return normal.mul(gain).add(offset);
  },

  /** Add a sublayer's change to its input: (B, T, C). Chapter 9. */
  residual(x, change) {
    return x.add(change);
  },
};

/** The whole model: its parameters by PyTorch's names, the functions above or
 * others, and how many heads it has; `pad` is the id of padding. */
export class Translator {
  constructor(parameters, { heads = 3, pad = 1, ...changed } = {}) {
    Object.assign(this, { parameters, heads, pad, parts: { ...parts, ...changed } });
  }

  /** Score the word after each of tgt: (B, S), (B, T) -> (B, T, V). `see` is
   * told the path and the value of each step. */
  forward(src, tgt, see = () => {}) {
    return this.decode(tgt, this.encode(src, see), src, see);
  }

  encode(src, see = () => {}) {
    const mask = this.parts.padding(src, this.pad);
    let x = this.embedding("src_embedding", src, see);
    x = this.sublayer("encoder.blocks.0.residuals.0", x, see, (y) =>
      this.attention("encoder.blocks.0.self_attention", y, y, mask, see));
    x = this.sublayer("encoder.blocks.0.residuals.1", x, see, (y) =>
      this.feedForward("encoder.blocks.0.feed_forward", y, see));
    return this.norm("encoder.norm", x, see);
  }

  decode(tgt, memory, src, see = () => {}) {
    const own = this.parts.padding(tgt, this.pad)
      .mul(this.parts.causal(tgt.shape[1]));
    const mask = this.parts.padding(src, this.pad);
    let x = this.embedding("tgt_embedding", tgt, see);
    x = this.sublayer("decoder.blocks.0.residuals.0", x, see, (y) =>
      this.attention("decoder.blocks.0.self_attention", y, y, own, see));
    x = this.sublayer("decoder.blocks.0.residuals.1", x, see, (y) =>
      this.attention("decoder.blocks.0.cross_attention", y, memory, mask, see));
    x = this.sublayer("decoder.blocks.0.residuals.2", x, see, (y) =>
      this.feedForward("decoder.blocks.0.feed_forward", y, see));
    x = this.norm("decoder.norm", x, see);
    return this.linear("head", x, see);
  }

  embedding(path, ids, see) {
    const tokens = this.parts.embed(ids, this.get(`${path}.tokens.weight`));
    see(`${path}.tokens`, tokens);
    const x = this.parts.place(tokens, this.get(`${path}.positions.table`));
    see(`${path}.positions`, x);
    return x;
  }

  /** Normalise, apply a sublayer, and add what it makes to its input. */
  sublayer(path, x, see, apply) {
    const change = apply(this.norm(`${path}.norm`, x, see));
    const sum = this.parts.residual(x, change);
    see(path, sum);
    return sum;
  }

  attention(path, x, source, mask, see) {
    const side = (name, from) =>
      this.parts.split(this.linear(`${path}.${name}`, from, see), this.heads);
    const [q, k, v] = [side("query", x), side("key", source), side("value", source)];
    const scores = this.parts.score(q, k);
    const masked = this.parts.hide(scores, mask);
    const weights = this.parts.weigh(masked, mask);
    const heads = this.parts.mix(weights, v);
    const made = { q, k, v, scores, masked, weights, heads };
    for (const [name, value] of Object.entries(made)) see(`${path}:${name}`, value);
    return this.linear(`${path}.output`, this.parts.join(heads), see);
  }

  feedForward(path, x, see) {
    const hidden = this.parts.activate(this.linear(`${path}.hidden`, x, see));
    see(`${path}:hidden`, hidden);
    return this.linear(`${path}.output`, hidden, see);
  }

  norm(path, x, see) {
    const [gain, offset] = [this.get(`${path}.weight`), this.get(`${path}.bias`)];
    const normal = this.parts.norm(x, gain, offset);
    see(path, normal);
    return normal;
  }

  linear(path, x, see) {
    const y = this.parts.linear(x, this.get(`${path}.weight`));
    see(path, y);
    return y;
  }

  get(name) {
    return this.parameters[name];
  }
}
