/* The book's translator, put together from its parts. */

import { parts } from "./parts.mjs";
import { ids } from "./tensor.mjs";

/** The whole model. `parameters` have PyTorch's names, `heads` is how many there
 * are, `pad` the id of padding, and `changed` are parts that replace others. */
export class Translator {
  constructor(parameters, { heads, pad = 1 }, changed = {}) {
    Object.assign(this, { parameters, heads, pad });
    this.parts = { ...parts, ...changed };
    this.masks = {
      padding: (ids) => this.parts.padding(ids, pad),
      causal: (t) => this.parts.causal(t),
    };
  }

  /** Score the word after each of tgt: (B, S), (B, T) -> (B, T, V). `see` is
   * told the path and the value of each step. */
  forward(src, tgt, see = () => {}) {
    return this.decode(tgt, this.encode(src, see), src, see);
  }

  /** Turn a source into memory: (B, S) -> (B, S, C). */
  encode(src, see = () => {}) {
    const mask = this.parts.sourceMask(src, this.masks);
    const block = this.block("encoder.blocks.0", see);
    let x = this.embedding("src_embedding", src, see);
    x = block(0, x, (y) => this.attention(block.path("self_attention"), y, y, mask, see));
    x = block(1, x, (y) => this.feedForward(block.path("feed_forward"), y, see));
    return this.norm("encoder.norm", see)(x);
  }

  /** Score the word after each of tgt, given the memory of src; or, of a single
   * sentence, after position `last` alone. */
  decode(tgt, memory, src, see = () => {}, last = null) {
    const own = this.parts.targetMask(tgt, this.masks);
    const mask = this.parts.memoryMask(src, own, this.masks);
    const block = this.block("decoder.blocks.0", see);
    const attend = (name) => (x, source, seen) =>
      this.attention(block.path(name), x, source, seen, see);
    let x = this.embedding("tgt_embedding", tgt, see);
    x = block(0, x, (y) => attend("self_attention")(y, y, own));
    x = block(1, x, (y) => this.parts.cross(y, memory, mask, attend("cross_attention")));
    x = block(2, x, (y) => this.feedForward(block.path("feed_forward"), y, see));
    x = this.norm("decoder.norm", see)(x);
    if (last !== null) x = x.view(...x.shape.slice(1)).rows(ids([[last]]));
    return this.parts.head(x, this.linear("head", see));
  }

  embedding(path, ids, see) {
    const tokens = this.parts.embed(ids, this.parameters[`${path}.tokens.weight`]);
    see(`${path}.tokens`, tokens);
    const x = this.parts.place(tokens, this.parameters[`${path}.positions.table`]);
    see(`${path}.positions`, x);
    return x;
  }

  /** Give a block's sublayers, by number, their norms and residual
   * connections. */
  block(path, see) {
    const apply = (number, x, sublayer) => {
      const sum = `${path}.sums.${number}`;
      const norm = this.norm(`${path}.norms.${number}`, see);
      const y = this.parts.residual(x, norm, sublayer, sum);
      see(sum, y);
      return y;
    };
    return Object.assign(apply, { path: (name) => `${path}.${name}` });
  }

  attention(path, x, source, mask, see) {
    const linear = (name) => this.linear(`${path}.${name}`, see);
    const layers = Object.fromEntries(
      ["query", "key", "value"].map((name) => [name, linear(name)]));
    const sides = this.parts.project(x, source, layers);
    const [q, k, v] = sides.map((side) => this.parts.split(side, this.heads));
    const scores = this.parts.score(q, k);
    const masked = this.parts.hide(scores, mask);
    const weights = this.parts.weigh(masked, mask);
    const heads = this.parts.mix(weights, v);
    const made = { q, k, v, scores, masked, weights, heads };
    for (const [name, value] of Object.entries(made)) see(`${path}:${name}`, value);
    return this.parts.output(this.parts.join(heads), linear("output"));
  }

  feedForward(path, x, see) {
    const hidden = this.parts.activate(this.linear(`${path}.hidden`, see)(x));
    see(`${path}:hidden`, hidden);
    return this.linear(`${path}.output`, see)(hidden);
  }

  norm(path, see) {
    const [gain, offset] = ["weight", "bias"].map((n) => this.parameters[`${path}.${n}`]);
    return (x) => this.told(path, this.parts.norm(x, gain, offset), see);
  }

  linear(path, see) {
    const weight = this.parameters[`${path}.weight`];
    return (x) => this.told(path, x.matmul(weight.mT), see);
  }

  told(path, value, see) {
    see(path, value);
    return value;
  }
}
