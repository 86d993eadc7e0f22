/* What a page's small torch can do, by PyTorch's names. Python calls these: none
 * may throw, so each gives a tensor, or the text of an error. */

import {
  Tensor, Wrong, along, asTensor, axisOf, backward, combine, common, each, listed, matmul, mode,
  numbers, offsets, permute, reduce, result, rows, scalar, size, spread, strides, take, view, viewed,
} from "./tensor.mjs";
import { fillIntegers, fillNormal, fillUniform, permutation, seed } from "./random.mjs";

const sign = (yes) => (yes ? 1 : 0);
const SLOPE = 2 / Math.sqrt(Math.PI);
const erf = (x) => { // a series without minus signs: nothing cancels
  if (Math.abs(x) > 6) return Math.sign(x);
  let [sum, term] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return SLOPE * Math.exp(-x * x) * sum;
};
const bell = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
const logistic = (x) => 1 / (1 + Math.exp(-x));
const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

/* f(x), and its derivative: of x and f(x). */
const UNARY = {
  exp: [Math.exp, (_, y) => y],
  log: [Math.log, (x) => 1 / x],
  log2: [Math.log2, (x) => 1 / (x * Math.LN2)],
  log1p: [Math.log1p, (x) => 1 / (1 + x)],
  expm1: [Math.expm1, (_, y) => y + 1],
  sqrt: [Math.sqrt, (_, y) => 0.5 / y],
  rsqrt: [(x) => 1 / Math.sqrt(x), (_, y) => -0.5 * y ** 3],
  reciprocal: [(x) => 1 / x, (_, y) => -y * y],
  tanh: [Math.tanh, (_, y) => 1 - y * y],
  sigmoid: [logistic, (_, y) => y * (1 - y)],
  silu: [(x) => x * logistic(x), (x, y) => logistic(x) * (1 + x - y)],
  gelu: [(x) => x * 0.5 * (1 + erf(x / Math.SQRT2)),
    (x) => 0.5 * (1 + erf(x / Math.SQRT2)) + x * bell(x)],
  softplus: [(x) => (x > 20 ? x : Math.log1p(Math.exp(x))), (x) => logistic(x)],
  erf: [erf, (x) => SLOPE * Math.exp(-x * x)],
  sin: [Math.sin, Math.cos],
  cos: [Math.cos, (x) => -Math.sin(x)],
};
const SAME_KIND = { // of whole numbers, whole numbers
  neg: [(x) => -x, () => -1],
  abs: [Math.abs, Math.sign],
  relu: [(x) => (x > 0 || Number.isNaN(x) ? x : 0), (_, y) => sign(y > 0)],
  square: [(x) => x * x, (x) => 2 * x],
  floor: [Math.floor, () => 0],
  ceil: [Math.ceil, () => 0],
  round: [even, () => 0],
  sign: [Math.sign, () => 0],
  clone: [(x) => x, () => 1],
};
const ASKS = {
  isnan: Number.isNaN, isfinite: Number.isFinite, logical_not: (x) => !x,
  isinf: (x) => Math.abs(x) === Infinity,
};
/* f(x, y), and its derivatives by both. */
const BINARY = {
  add: [(x, y) => x + y, () => 1, () => 1],
  sub: [(x, y) => x - y, () => 1, () => -1],
  mul: [(x, y) => x * y, (_, y) => y, (x) => x],
  div: [(x, y) => x / y, (_, y) => 1 / y, (x, y) => -x / (y * y)],
  pow: [Math.pow, (x, y) => y * x ** (y - 1), (x, _, z) => (x > 0 ? z * Math.log(x) : 0)],
  maximum: [(x, y) => (x >= y || Number.isNaN(x) ? x : y), (x, y) => (x > y) + (x === y) / 2,
    (x, y) => (x < y) + (x === y) / 2],
  minimum: [(x, y) => (x <= y || Number.isNaN(x) ? x : y), (x, y) => (x < y) + (x === y) / 2,
    (x, y) => (x > y) + (x === y) / 2],
  floor_divide: [(x, y) => Math.floor(x / y)],
  remainder: [(x, y) => x - y * Math.floor(x / y), () => 1, (x, y) => -Math.floor(x / y)],
};
const COMPARE = {
  eq: (x, y) => x === y, ne: (x, y) => x !== y, lt: (x, y) => x < y,
  le: (x, y) => x <= y, gt: (x, y) => x > y, ge: (x, y) => x >= y,
};
const LOGIC = { logical_and: (x, y) => x & y, logical_or: (x, y) => x | y, logical_xor: (x, y) => x ^ y };

const sumOf = (data, at, n) => {
  let sum = 0;
  for (let i = at; i < at + n; i++) sum += data[i];
  return sum;
};
const best = (better) => (data, at, n) => {
  let found = 0;
  for (let i = 1; i < n; i++) {
    if (better(data[at + i], data[at + found]) || Number.isNaN(data[at + i])) found = i;
    if (Number.isNaN(data[at + found])) break;
  }
  return found;
};
const [argmax, argmin] = [best((x, y) => x > y), best((x, y) => x < y)];

/* Each makes one number of a row: [f(data, at, n), derivative, kind]. */
const REDUCE = {
  sum: [sumOf, () => 1],
  mean: [(data, at, n) => sumOf(data, at, n) / n, (_x, _y, n) => 1 / n],
  argmax: [argmax, null, "int"],
  argmin: [argmin, null, "int"],
  any: [(data, at, n) => sign(data.subarray(at, at + n).some((x) => x)), null, "bool"],
  all: [(data, at, n) => sign(data.subarray(at, at + n).every((x) => x)), null, "bool"],
  prod: [(data, at, n) => data.subarray(at, at + n).reduce((a, b) => a * b, 1), (x, y) => y / x],
};

/** Find the largest of n numbers, `step` apart. */
function topOf(data, at, n, step = 1) {
  let top = -Infinity;
  for (let i = 0, p = at; i < n; i++, p += step) if (!(data[p] <= top)) top = data[p];
  return top;
}

function softmaxRow(from, to, at, n) {
  const top = topOf(from, at, n);
  let sum = 0;
  for (let i = at; i < at + n; i++) sum += to[i] = Math.exp(from[i] - top);
  for (let i = at; i < at + n; i++) to[i] /= sum;
}

function logSoftmaxRow(from, to, at, n) {
  const top = topOf(from, at, n);
  let sum = 0;
  for (let i = at; i < at + n; i++) sum += Math.exp(from[i] - top);
  const less = top + Math.log(sum);
  for (let i = at; i < at + n; i++) to[i] = from[i] - less;
}

const softmax = (x, dim) => along(x, dim, (z) => rows(z, softmaxRow,
  (g, y, grad, at, n) => {
    let dot = 0;
    for (let i = at; i < at + n; i++) dot += g[i] * y[i];
    for (let i = at; i < at + n; i++) grad[i] = y[i] * (g[i] - dot);
  }));
const logSoftmax = (x, dim) => along(x, dim, (z) => rows(z, logSoftmaxRow,
  (g, y, grad, at, n) => {
    const sum = sumOf(g, at, n);
    for (let i = at; i < at + n; i++) grad[i] = g[i] - Math.exp(y[i]) * sum;
  }));
const cumsum = (x, dim) => along(x, dim, (z) => rows(z, (from, to, at, n) => {
  for (let [i, sum] = [at, 0]; i < at + n; i++) to[i] = sum += from[i];
}, (g, _y, grad, at, n) => {
  for (let [i, sum] = [at + n - 1, 0]; i >= at; i--) grad[i] = sum += g[i];
}));

/** Give each last row mean 0 and variance 1, then gains and offsets. */
function norm(x, shape, gain, offset, eps) {
  const n = size(shape);
  if (String(x.shape.slice(x.shape.length - shape.length)) !== String(shape)) {
    throw new Wrong(`Given normalized_shape=${listed(shape)}, expected input with shape [*, `
      + `${shape.join(", ")}], but got input of size${listed(x.shape)}`);
  }
  const [data, normal] = [numbers(x.shape), numbers(x.shape)];
  const scales = new Float32Array(data.length / n);
  scales.forEach((_, row) => {
    const at = row * n;
    const mean = sumOf(x.data, at, n) / n;
    let square = 0;
    for (let i = at; i < at + n; i++) square += (x.data[i] - mean) ** 2;
    const scale = scales[row] = 1 / Math.sqrt(square / n + eps);
    for (let i = 0; i < n; i++) {
      normal[at + i] = (x.data[at + i] - mean) * scale;
      data[at + i] = normal[at + i] * (gain?.data[i] ?? 1) + (offset?.data[i] ?? 0);
    }
  });
  const from = [x, gain, offset].filter(Boolean);
  return result(from, data, x.shape, "float", ({ data: g }) => {
    const [dx, dgain, doffset] = [data, new Float32Array(n), new Float32Array(n)]
      .map((a) => new Float32Array(a.length));
    scales.forEach((scale, row) => {
      let [sum, dot] = [0, 0];
      for (let i = 0, j = row * n; i < n; i++, j++) {
        const d = g[j] * (gain?.data[i] ?? 1);
        sum += d;
        dot += d * normal[j];
        dgain[i] += g[j] * normal[j];
        doffset[i] += g[j];
      }
      for (let i = 0, j = row * n; i < n; i++, j++) {
        dx[j] = scale * (g[j] * (gain?.data[i] ?? 1) - (sum + normal[j] * dot) / n);
      }
    });
    return [[dx, x], [dgain, gain], [doffset, offset]].filter(([, z]) => z)
      .map(([d, z]) => new Tensor(d, z.shape));
  });
}

/** Score logits (N, V, ...) by the ids (N, ...) that were right: the mean of
 * −log of their share, without those that are `ignored`. */
function crossEntropy(logits, ids, ignored, how) {
  const axis = Math.min(1, logits.shape.length - 1);
  const rest = logits.shape.filter((_, i) => i !== axis);
  if (logits.shape.length === ids.shape.length + 1 && String(rest) !== String(ids.shape)) {
    if (logits.shape.length < 3 || logits.shape[0] !== ids.shape[0]) {
      throw new Wrong(`Expected input batch_size (${logits.shape[0]}) to match target batch_size `
        + `(${ids.shape[0]}).`, "ValueError");
    }
    throw new Wrong(`Expected target size ${listed(rest)}, got ${listed(ids.shape)}`);
  }
  const inner = size(logits.shape.slice(axis + 1));
  const n = logits.shape[axis];
  const place = (i) => Math.floor(i / inner) * n * inner + (i % inner);
  const [shares, losses] = [numbers(logits.shape), numbers(ids.shape)];
  let counted = 0;
  for (let i = 0; i < ids.data.length; i++) {
    const id = ids.data[i];
    if (id === ignored) continue;
    if (!(id >= 0 && id < n)) throw new Wrong(`Target ${id} is out of bounds.`, "IndexError");
    const at = place(i);
    const top = topOf(logits.data, at, n, inner);
    let sum = 0;
    for (let j = 0, p = at; j < n; j++, p += inner) sum += shares[p] = Math.exp(logits.data[p] - top);
    for (let j = 0, p = at; j < n; j++, p += inner) shares[p] /= sum;
    losses[i] = Math.log(sum) + top - logits.data[at + id * inner];
    counted++;
  }
  const by = how === "mean" ? counted : 1;
  const apart = how === "none"; // a loss for each
  const data = apart ? losses : Float32Array.of(sumOf(losses, 0, losses.length) / by);
  return result([logits], data, apart ? ids.shape : [], "float", ({ data: g }) => {
    const grad = new Float32Array(shares.length);
    ids.data.forEach((id, i) => {
      if (id === ignored) return;
      const scale = (apart ? g[i] : g[0]) / by;
      for (let j = 0, p = place(i); j < n; j++, p += inner) {
        grad[p] = scale * (shares[p] - sign(j === id));
      }
    });
    return [new Tensor(grad, logits.shape)];
  });
}

/** Find the places of x[keys]. A key is a whole number, a slice "start:stop:step",
 * null for a new axis, "..." or a tensor of places or of yes and no. */
function places(x, keys) {
  keys = keys.flatMap((key) => (key?.kind === "bool" ? trueAt(key, x) : [key]));
  const used = keys.filter((key) => key !== null && key !== "...").length;
  if (used > x.shape.length) {
    throw new Wrong(`too many indices for tensor of dimension ${x.shape.length}`, "IndexError");
  }
  const rest = Array(x.shape.length - used).fill("::");
  const dots = keys.indexOf("...");
  keys = dots < 0 ? [...keys, ...rest] : keys.with(dots, rest).flat();
  const steps = strides(x.shape);
  const axes = []; // of the result: [sizes, offsets]
  let [axis, picked, common_] = [0, null, null];
  for (const key of keys) {
    if (key === null) {
      axes.push([[1], Int32Array.of(0)]);
      continue;
    }
    const [n, step] = [x.shape[axis], steps[axis]];
    if (typeof key === "string") {
      const [from, to, by] = sliced(key, n);
      const length = Math.max(0, Math.ceil((to - from) / by));
      axes.push([[length], Int32Array.from({ length }, (_, i) => (from + i * by) * step)]);
    } else if (key instanceof Tensor) {
      const more = each(key, (i) => inside(i, n, axis) * step, null, "int");
      if (!picked) axes.push(common_ = []);
      picked = picked ? combine(picked, more, (a, b) => a + b) : more;
    } else {
      axes.push([[], Int32Array.of(inside(key, n, axis) * step)]);
    }
    axis++;
  }
  if (common_) common_.push(picked.shape, Int32Array.from(picked.data));
  return {
    at: axes.reduce((all, [, more]) => spread(all, more), Int32Array.of(0)),
    shape: axes.flatMap(([sizes]) => sizes),
  };
}

function sliced(text, n) {
  const [from, to, by] = text.split(":");
  const clip = (i) => Math.min(Math.max(i < 0 ? i + n : i, 0), n);
  return [from ? clip(Number(from)) : 0, to ? clip(Number(to)) : n, by ? Number(by) : 1];
}

function inside(i, n, axis) {
  if (i >= -n && i < n) return i < 0 ? i + n : i;
  throw new Wrong(`index ${i} is out of bounds for dimension ${axis} with size ${n}`, "IndexError");
}

/** Turn a mask into the places where it is true, an index for each of its axes. */
function trueAt(mask, x) {
  const [own, other] = [mask.shape, x.shape.slice(0, mask.shape.length)];
  const differs = own.findIndex((n, i) => n !== other[i]);
  if (differs >= 0) {
    throw new Wrong(`The shape of the mask ${listed(own)} at index ${differs} does not match the `
      + `shape of the indexed tensor ${listed(x.shape)} at index ${differs}`, "IndexError");
  }
  const found = [...mask.data.keys()].filter((i) => mask.data[i]);
  return strides(own).map((step, axis) => new Tensor(
    Float32Array.from(found, (i) => Math.floor(i / step) % own[axis]), [found.length], "int"));
}

/** Put axes last, and make one of them: (..., a, b) -> (..., ab). */
function gatheredLast(x, dims) {
  if (!dims.length) return view(x, [x.data.length]);
  const order = dims.map((dim) => axisOf(dim, x.shape));
  if (order.length === 1 && order[0] === x.shape.length - 1) return x;
  const others = x.shape.map((_, i) => i).filter((i) => !order.includes(i));
  const moved = permute(x, [...others, ...order]);
  return view(moved, [...others.map((i) => x.shape[i]), size(order.map((i) => x.shape[i]))]);
}

function reduced(name, x, keep, ...dims) {
  const arg = { max: "argmax", min: "argmin" }[name];
  const [f, slope, kind] = REDUCE[arg ?? name];
  if (name === "mean" && x.kind !== "float") {
    throw new Wrong("mean(): could not infer output dtype. Input dtype must be either a floating "
      + `point or complex dtype. Got: ${x.kind === "int" ? "Long" : "Bool"}`);
  }
  const own = name === "sum" && x.kind === "bool" ? "int" : x.kind;
  const last = gatheredLast(x, dims);
  let found = reduce(last, f, slope, kind ?? own);
  if (arg) { // the number that lies there
    const n = last.shape.at(-1) ?? 1;
    found = take(last, Int32Array.from(found.data, (i, row) => row * n + i), found.shape);
  }
  const order = dims.map((dim) => axisOf(dim, x.shape));
  const left = x.shape.map((n, i) => (!dims.length || order.includes(i) ? 1 : n));
  return view(found, keep ? left : left.filter((_, i) => dims.length && !order.includes(i)));
}

function variance(x, less, keep, ...dims) {
  const mean = reduced("mean", x, true, ...dims);
  const centred = combine(x, mean, ...BINARY.sub);
  const sum = reduced("sum", each(centred, ...SAME_KIND.square), keep, ...dims);
  return combine(sum, Math.max(x.data.length / mean.data.length - less, 0), ...BINARY.div);
}

/** Give a shape its missing size, -1. */
function shaped(x, shape) {
  const known = size(shape.filter((n) => n !== -1));
  const whole = shape.map((n) => (n === -1 ? x.data.length / known : n));
  if (size(whole) === x.data.length && whole.every(Number.isInteger)) return whole;
  throw new Wrong(`shape '${listed(shape)}' is invalid for input of size ${x.data.length}`);
}

const NO_VIEW = "view size is not compatible with input tensor's size and stride (at least one "
  + "dimension spans across two contiguous subspaces). Use .reshape(...) instead.";

function expanded(x, shape) {
  const missing = shape.length - x.shape.length;
  const own = [...Array(Math.max(missing, 0)).fill(1), ...x.shape];
  const whole = shape.map((n, i) => (n === -1 ? own[i] : n));
  const differs = own.findLastIndex((n, i) => n !== 1 && n !== whole[i]);
  if (missing < 0 || differs >= 0) {
    throw new Wrong(missing < 0 ? `expand(${listed(shape)}, size=${listed(x.shape)}): the number of `
      + `sizes provided (${shape.length}) must be greater or equal to the number of dimensions in the `
      + `tensor (${x.shape.length})`
      : `The expanded size of the tensor (${whole[differs]}) must match the existing size `
      + `(${own[differs]}) at non-singleton dimension ${differs}.  Target sizes: ${listed(shape)}.  `
      + `Tensor sizes: ${listed(x.shape)}`);
  }
  const steps = strides(own).map((step, axis) => (own[axis] === 1 ? 0 : step));
  return take(x, offsets(whole, steps), whole);
}

function cat(dim, ...parts) {
  const axis = axisOf(dim, parts[0].shape);
  parts.slice(1).forEach(({ shape }, i) => {
    const differs = parts[0].shape.findIndex((n, d) => d !== axis && n !== shape[d]);
    if (differs >= 0) {
      throw new Wrong(`Sizes of tensors must match except in dimension ${axis}. Expected size `
        + `${parts[0].shape[differs]} but got size ${shape[differs]} for tensor number ${i + 1} in the list.`);
    }
  });
  const sizes = parts.map((x) => size(x.shape.slice(axis)));
  const shape = parts[0].shape.with(axis, parts.reduce((sum, x) => sum + x.shape[axis], 0));
  const data = numbers(shape);
  const whole = size(shape.slice(axis));
  const copy = (f) => {
    for (let row = 0, at = 0; row < data.length / whole; row++) {
      parts.forEach((_, i) => {
        f(i, row * sizes[i], at, sizes[i]);
        at += sizes[i];
      });
    }
  };
  copy((i, from, to, n) => data.set(parts[i].data.subarray(from, from + n), to));
  const kind = parts.find((x) => x.kind === "float")?.kind ?? parts[0].kind;
  return result(parts, data, shape, kind, ({ data: g }) => {
    const grads = parts.map((x) => new Tensor(numbers(x.shape), x.shape));
    copy((i, from, to, n) => grads[i].data.set(g.subarray(to, to + n), from));
    return grads;
  });
}

/** Keep what lies on this side of a diagonal. */
const triangle = (keep) => (x, diagonal = 0) => {
  const [r, c] = x.shape.slice(-2);
  const stays = (i) => keep((i % c) - (Math.floor(i / c) % r), diagonal);
  return result([x], x.data.map((a, i) => (stays(i) ? a : 0)), x.shape, x.kind,
    (g) => [new Tensor(g.data.map((a, i) => (stays(i) ? a : 0)), x.shape)]);
};

/** Choose, number by number. */
function where(mask, x, y) {
  [x, y] = [asTensor(x), asTensor(y)];
  const shape = common(common(mask.shape, x.shape), y.shape);
  const [m, a, b] = [mask, x, y].map((z) => expanded(z, shape));
  const data = a.data.map((p, i) => (m.data[i] ? p : b.data[i]));
  const kind = [x, y].some((z) => z.kind === "float") ? "float" : x.kind;
  return result([mask, a, b], data, shape, kind, (g) => [null,
    new Tensor(g.data.map((d, i) => (m.data[i] ? d : 0)), shape),
    new Tensor(g.data.map((d, i) => (m.data[i] ? 0 : d)), shape)]);
}

/** Give a copy with other numbers at these places. */
function put(x, value, ...keys) {
  const { at, shape } = places(x, keys);
  const y = expanded(asTensor(value), shape);
  const data = x.data.slice();
  at.forEach((place, i) => { data[place] = y.data[i]; });
  return result([x, y], data, x.shape, x.kind, (g) => {
    const rest = g.data.slice();
    at.forEach((place) => { rest[place] = 0; });
    return [new Tensor(rest, x.shape), new Tensor(Float32Array.from(at, (i) => g.data[i]), shape)];
  });
}

const WORDS = { True: 1, False: 0, inf: Infinity, "-inf": -Infinity, nan: NaN }; // Python's
const filled = (kind, f) => (...shape) => {
  const data = numbers(shape);
  f(data);
  return new Tensor(data, shape, kind);
};
function product(x, y) {
  if (!(y instanceof Tensor)) {
    throw new Wrong("matmul(): argument 'other' (position 2) must be Tensor", "TypeError");
  }
  if (x.kind !== y.kind) {
    const [a, b] = [x, y].map(({ kind }) => ({ float: "float", int: "long int", bool: "bool" })[kind]);
    throw new Wrong(`expected m1 and m2 to have the same dtype, but got: ${a} != ${b}`);
  }
  return matmul(x, y);
}

const same = ([f, slope]) => (x) => each(x, f, slope, x.kind);

const raw = {
  ...Object.fromEntries(Object.entries(UNARY).map(([name, [f, slope]]) =>
    [name, (x) => each(x, f, slope)])),
  ...Object.fromEntries(Object.entries(SAME_KIND).map(([name, both]) => [name, same(both)])),
  ...Object.fromEntries(Object.entries(ASKS).map(([name, f]) =>
    [name, (x) => each(x, (y) => sign(f(y)), null, "bool")])),
  ...Object.fromEntries(Object.entries(BINARY).map(([name, [f, a, b]]) =>
    [name, (x, y) => combine(x, y, f, a, b, name === "div" ? "float" : null)])),
  ...Object.fromEntries(Object.entries(COMPARE).map(([name, f]) =>
    [name, (x, y) => combine(x, y, (a, b) => sign(f(a, b)), null, null, "bool")])),
  ...Object.fromEntries(Object.entries(LOGIC).map(([name, f]) =>
    [name, (x, y) => combine(x, y, f)])),
  ...Object.fromEntries(["and", "or", "xor"].map((name) => [`bitwise_${name}`, (x, y) => {
    if ([x, y].some(({ kind }) => kind === "float")) {
      throw new Wrong(`"bitwise_${name}_cpu" not implemented for 'Float'`, "NotImplementedError");
    }
    return combine(x, y, LOGIC[`logical_${name}`]);
  }])),
  ...Object.fromEntries([...Object.keys(REDUCE), "max", "min"].map((name) =>
    [name, (x, keep, ...dims) => reduced(name, x, keep, ...dims)])),
  softmax, cumsum, where, put, cat,
  log_softmax: logSoftmax,
  var: variance,
  layer_norm: (x, gain, offset, eps, ...shape) => norm(x, shape, gain, offset, eps),
  cross_entropy: crossEntropy,
  matmul: product,
  tril: triangle((ahead, diagonal) => ahead <= diagonal),
  triu: triangle((ahead, diagonal) => ahead >= diagonal),
  reshape: (x, ...shape) => view(x, shaped(x, shape)),
  view: (x, ...shape) => {
    const whole = shaped(x, shape);
    const steps = x.data.length && x.shape.length ? viewed(x, whole) : [];
    if (!steps) throw new Wrong(NO_VIEW);
    return Object.assign(view(x, whole), x.steps && { steps });
  },
  expand: (x, ...shape) => expanded(x, shape),
  permute: (x, ...dims) => permute(x, dims.map((dim) => axisOf(dim, x.shape))),
  transpose: (x, a, b) => {
    const [i, j] = [axisOf(a, x.shape), axisOf(b, x.shape)];
    const order = x.shape.map((_, axis) => (axis === i ? j : axis === j ? i : axis));
    return permute(x, order);
  },
  index: (x, ...keys) => {
    const { at, shape } = places(x, keys);
    return take(x, at, shape);
  },
  as: (x, kind) => (x.kind === kind ? x
    : kind === "float" ? each(x, (a) => a, () => 1)
      : each(x, kind === "bool" ? (a) => sign(a !== 0) : Math.trunc, null, kind)),
  full: (value, kind, ...shape) => filled(kind, (data) => data.fill(value))(...shape),
  arange: (from, to, by, kind) => {
    const length = Math.max(0, Math.ceil((to - from) / by));
    return new Tensor(Float32Array.from({ length }, (_, i) => from + i * by), [length], kind);
  },
  rand: (...shape) => filled("float", (data) => fillUniform(data, 0, 1))(...shape),
  randn: (...shape) => filled("float", (data) => fillNormal(data, 0, 1))(...shape),
  randint: (low, high, ...shape) => filled("int", (data) => fillIntegers(data, low, high))(...shape),
  randperm: (n) => new Tensor(permutation(n), [n], "int"),
  uniform: (x, from, to) => refilled(x, (data) => fillUniform(data, from, to)),
  normal: (x, mean, std) => refilled(x, (data) => fillNormal(data, mean, std)),
  tensor: (text, kind, ...shape) =>
    new Tensor(Float32Array.from(text ? text.split(", ") : [], (word) => WORDS[word] ?? word), shape, kind),
  detach: (x) => new Tensor(x.data, x.shape, x.kind),
  assign: (x, y) => refilled(x, (data) => data.set(expanded(asTensor(y), x.shape).data)),
  require: (x, needs) => Object.assign(x, { needs }),
  backward: (x) => {
    backward(x);
    return x;
  },
  clip: (most, ...grads) => {
    const whole = Math.sqrt(grads.reduce((sum, g) => sum + g.data.reduce((a, b) => a + b * b, 0), 0));
    const by = Math.min(1, most / (whole + 1e-6));
    if (by < 1 || Number.isNaN(by)) for (const g of grads) g.data.forEach((a, i) => { g.data[i] = a * by; });
    return scalar(whole);
  },
  adam: (x, state, lr, beta, gamma, eps, decay, decoupled) => {
    const { data, grad: { data: g } } = x;
    const { m, v } = state;
    const [mean, square] = [1 - beta ** ++state.step, 1 - gamma ** state.step];
    for (let i = 0; i < data.length; i++) {
      let d = g[i];
      if (decoupled) data[i] *= 1 - lr * decay;
      else d += decay * data[i];
      m[i] = beta * m[i] + (1 - beta) * d;
      v[i] = gamma * v[i] + (1 - gamma) * d * d;
      data[i] -= (lr / mean) * m[i] / (Math.sqrt(v[i] / square) + eps);
    }
    return x;
  },
};

function refilled(x, f) {
  if (x.needs && mode.grad) {
    throw new Wrong("a leaf Variable that requires grad is being used in an in-place operation.");
  }
  f(x.data);
  return x;
}

/** Never throw: Python would not see it. */
const safe = (f) => (...given) => {
  try {
    return f(...given);
  } catch (error) {
    return error instanceof Wrong ? error.message : `RuntimeError: ${error.message}`;
  }
};

export const operations = {
  ...Object.fromEntries(Object.entries(raw).map(([name, f]) => [name, safe(f)])),
  seed,
  turned: (x) => Boolean(x.steps),
  leaf: (x) => x.needs && !x.back,
  state: (x) => ({ m: new Float32Array(x.data.length), v: new Float32Array(x.data.length), step: 0 }),
  shape: (x) => x.shape.join(),
  item: (x) => x.data[0],
  texts: (x) => x.data.join(),
  grad: (on) => {
    const before = mode.grad;
    mode.grad = on;
    return before;
  },
};
