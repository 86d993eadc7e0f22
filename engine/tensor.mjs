/* Tensors of a page's small torch: numbers in the order of the last axis, all in
 * 32 bits, and the way back that their gradients take. Names and meanings are
 * PyTorch's, but nothing shares its numbers. What is wrong is thrown as Wrong:
 * an error's name and PyTorch's own words. */

import { multiply } from "./multiply.mjs";

export class Wrong extends Error {
  constructor(text, kind = "RuntimeError") {
    super(`${kind}: ${text}`);
  }
}

export const mode = { grad: true };
let made = 0; // tensors so far: what is made later depends on what was before

export class Tensor {
  constructor(data, shape, kind = "float") {
    Object.assign(this, { data, shape, kind, needs: false, grad: null, number: made++ });
  }
}

export const size = (shape) => shape.reduce((a, b) => a * b, 1);
export const numbers = (shape) => new Float32Array(size(shape));
export const listed = (shape) => `[${shape.join(", ")}]`;
export const scalar = (x, kind = "float") => new Tensor(Float32Array.of(x), [], kind);
const KINDS = { boolean: "bool", number: "int" }; // Python hands floats over as tensors
export function asTensor(x) {
  if (x instanceof Tensor) return x;
  if (typeof x in KINDS) return scalar(x, Number.isInteger(x) || x === !!x ? KINDS[typeof x] : "float");
  throw new Wrong("an operand must be a Tensor or a number", "TypeError");
}

/** Make what an operation gives of some tensors. `back` takes the gradient of the
 * result and gives one for each of them, null where none is needed. */
export function result(from, data, shape, kind, back) {
  const out = new Tensor(data, shape, kind);
  if (mode.grad && back && kind === "float" && from.some((x) => x.needs)) {
    Object.assign(out, { needs: true, from, back });
  }
    return out;
}

/** Say how far apart two neighbours along each axis lie. */
export function strides(shape) {
  const steps = Array(shape.length);
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    steps[axis] = step;
    step *= shape[axis];
  }
  return steps;
}

/** Read an axis that may be counted from the end. */
export function axisOf(dim, { length }) {
  const most = Math.max(length, 1);
  if (!Number.isInteger(dim) || dim < -most || dim >= most) {
    throw new Wrong(`Dimension out of range (expected to be in range of [${-most}, `
      + `${most - 1}], but got ${dim})`, "IndexError");
  }
  return dim < 0 ? dim + most : dim;
}

const kept = new Map(); // the same few shapes come again and again

/** List where each number of a shape is read, with these steps. */
export function offsets(shape, steps) {
  const key = `${shape}:${steps}`;
  if (!kept.has(key)) {
    if (kept.size > 200) kept.clear();
    kept.set(key, shape.reduce((all, n, axis) =>
      spread(all, Int32Array.from({ length: n }, (_, i) => i * steps[axis])), Int32Array.of(0)));
  }
  return kept.get(key);
}

/** Add each of some offsets to each of others. */
export function spread(all, more) {
  const found = new Int32Array(all.length * more.length);
  let at = 0;
  for (const one of all) for (const other of more) found[at++] = one + other;
  return found;
}

/** Give the shape that two shapes have together; size 1 fits every size. */
export function common(a, b) {
  const length = Math.max(a.length, b.length);
  return Array.from({ length }, (_, axis) => {
    const [one, other] = [a, b].map((shape) => shape[axis + shape.length - length] ?? 1);
    if (one !== other && one !== 1 && other !== 1) {
      throw new Wrong(`The size of tensor a (${one}) must match the size of tensor b `
        + `(${other}) at non-singleton dimension ${axis}`);
    }
    return one === 1 ? other : one;
  });
}

/** List where a tensor is read when it is repeated to a shape; null: as it is. */
function repeated(x, shape) {
  if (x.data.length === size(shape)) return null;
  const missing = shape.length - x.shape.length;
  const steps = strides(x.shape).map((step, axis) => (x.shape[axis] === 1 ? 0 : step));
  return offsets(shape, [...Array(missing).fill(0), ...steps]);
}

/** Add gradients up that one number has in many places. */
function gathered(data, at, x) {
  const sums = new Float32Array(x.data.length);
  for (let i = 0; i < data.length; i++) sums[at[i]] += data[i];
  return sums;
}

/** Combine numbers one by one, f(x, y); a and b are f's derivatives. */
export function combine(x, y, f, a = null, b = null, kind = null) {
  [x, y] = [asTensor(x), asTensor(y)];
  const shape = common(x.shape, y.shape);
  const [at, to] = [repeated(x, shape), repeated(y, shape)];
  const data = numbers(shape);
  const [p, q] = [x.data, y.data];
  for (let i = 0; i < data.length; i++) data[i] = f(p[at ? at[i] : i], q[to ? to[i] : i]);
  const wider = [x, y].some((z) => z.kind === "float") ? "float"
    : [x, y].some((z) => z.kind === "int") ? "int" : "bool";
  const back = a && (({ data: g }) => [[x, at, a], [y, to, b]].map(([z, where, slope]) => {
    if (!z.needs) return null;
    const grad = new Float32Array(g.length);
    for (let i = 0; i < g.length; i++) {
      grad[i] = g[i] * slope(p[at ? at[i] : i], q[to ? to[i] : i], data[i]);
    }
    return new Tensor(where ? gathered(grad, where, z) : grad, z.shape);
  }));
  return result([x, y], data, shape, kind ?? wider, back);
}

/** Do f to each number; its derivative is slope(x, f(x)). */
export function each(x, f, slope, kind = "float") {
  const data = new Float32Array(x.data.length);
  for (let i = 0; i < data.length; i++) data[i] = f(x.data[i]);
  return result([x], data, x.shape, kind, slope && (({ data: g }) => [
    new Tensor(g.map((d, i) => d * slope(x.data[i], data[i])), x.shape)]));
}

/** Read numbers at these places; the way back adds up there. */
export function take(x, at, shape) {
  const data = new Float32Array(at.length);
  for (let i = 0; i < at.length; i++) data[i] = x.data[at[i]];
  return result([x], data, shape, x.kind,
    (g) => [new Tensor(gathered(g.data, at, x), x.shape)]);
}

/** Read the same numbers, in the same order, with another shape. */
export function view(x, shape) {
  return result([x], x.data, shape, x.kind, (g) => [new Tensor(g.data, x.shape)]);
}

/** Put the axes in another order. */
export function permute(x, order) {
  const steps = strides(x.shape);
  const at = offsets(order.map((axis) => x.shape[axis]), order.map((axis) => steps[axis]));
  const found = take(x, at, order.map((axis) => x.shape[axis]));
  return Object.assign(found, { steps: order.map((axis) => (x.steps ?? steps)[axis]) });
}

/** Find the steps that PyTorch's view would have, which copies no numbers; null if
 * there are none. A copy of ours remembers with `steps` how PyTorch's would lie. */
export function viewed({ shape, steps = strides(shape) }, next) {
  const found = [];
  let [at, old, now, base] = [next.length - 1, 1, 1, steps.at(-1)];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    old *= shape[axis];
    if (axis && (shape[axis - 1] === 1 || steps[axis - 1] === old * base)) continue;
    for (; at >= 0 && (now < old || next[at] === 1); at--) {
      found.unshift(now * base);
      now *= next[at];
    }
    if (now !== old) return null;
    [old, now, base] = [1, 1, steps[axis - 1]];
  }
  return found;
}

/** Multiply matrices, (..., n, k) @ (..., k, m), for each index in front. */
export function matmul(x, y) {
  if (!x.shape.length || !y.shape.length) {
    throw new Wrong("both arguments to matmul need to be at least 1D, but they are "
      + `${x.shape.length}D and ${y.shape.length}D`);
  }
  if (y.shape.length === 1) return drop(matmul(x, view(y, [...y.shape, 1])), -1);
  if (x.shape.length === 1) return drop(matmul(view(x, [1, ...x.shape]), y), -2);
  const [[n, k], [other, m]] = [x, y].map(({ shape }) => shape.slice(-2));
  const one = y.shape.length === 2; // for all
  const front = one ? x.shape.slice(0, -2) : common(x.shape.slice(0, -2), y.shape.slice(0, -2));
  if (k !== other) throw new Wrong(noProduct(x.shape, y.shape));
  if (!one) [x, y] = [x, y].map((z) => repeatedTo(z, [...front, ...z.shape.slice(-2)]));
  const [rows, many] = one ? [x.data.length / k, 1] : [n, size(front)];
  const data = multiply(x.data, y.data, [rows, k, m], "", many);
  return result([x, y], data, [...front, n, m], "float", ({ data: g }) => {
    const dx = x.needs && multiply(g, y.data, [rows, m, k], "b", many);
    const dy = y.needs && multiply(x.data, g, [k, rows, m], "a", many);
    return [dx && new Tensor(dx, x.shape), dy && new Tensor(dy, y.shape)];
  });
}

function repeatedTo(x, shape) {
  const at = repeated(x, shape);
  return at || x.shape.length !== shape.length ? take(x, at ?? offsets(shape, strides(shape)), shape) : x;
}

function noProduct(a, b) {
  if (b.length > 2) {
    const two = [...b.slice(-3, -2), a.at(-1)];
    return `Expected size for first two dimensions of batch2 tensor to be: ${listed(two)} `
      + `but got: ${listed(b.slice(-3, -1))}.`;
  }
  return `mat1 and mat2 shapes cannot be multiplied (${size(a.slice(0, -1))}x${a.at(-1)} `
    + `and ${b.join("x")})`;
}

/** Leave out an axis of size 1. */
export function drop(x, dim) {
  const axis = axisOf(dim, x.shape);
  return x.shape[axis] === 1 ? view(x, x.shape.filter((_, i) => i !== axis)) : x;
}

/** Do something along the last axis, with another one put there. */
export function along(x, dim, f) {
  const axis = axisOf(dim, x.shape);
  if (axis >= x.shape.length - 1) return f(x);
  const order = x.shape.map((_, i) => i);
  [order[axis], order[order.length - 1]] = [order.at(-1), axis];
  return permute(f(permute(x, order)), order);
}

/** Turn each last row into something as long: `f` is given where it begins and how
 * long it is, `back` its gradient as well. */
export function rows(x, f, back) {
  const n = x.shape.at(-1) ?? 1;
  const data = new Float32Array(x.data.length);
  for (let at = 0; at < data.length; at += n) f(x.data, data, at, n);
  return result([x], data, x.shape, "float", ({ data: g }) => {
    const grad = new Float32Array(data.length);
    for (let at = 0; at < data.length; at += n) back(g, data, grad, at, n);
    return [new Tensor(grad, x.shape)];
  });
}

/** Make one number of each last row, `f(data, at, n)`; an axis of size 1 stays.
 * slope(x, value, n, i) is the derivative by the i-th. */
export function reduce(x, f, slope, kind = "float") {
  const n = x.shape.at(-1) ?? 1;
  const shape = x.shape.length ? [...x.shape.slice(0, -1), 1] : [];
  const data = numbers(shape);
  for (let i = 0; i < data.length; i++) data[i] = f(x.data, i * n, n);
  return result([x], data, shape, kind, slope && (({ data: g }) => {
    const grad = new Float32Array(x.data.length);
    for (let i = 0; i < grad.length; i++) {
      const row = Math.floor(i / n);
      grad[i] = g[row] * slope(x.data[i], data[row], n, i - row * n, row);
    }
    return [new Tensor(grad, x.shape)];
  }));
}

const TWICE = "Trying to backward through the graph a second time (or directly access saved tensors "
  + "after they have already been freed). Saved intermediate values of the graph are freed when you "
  + "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
  + "the graph a second time or if you need to access saved tensors after calling backward.";

/** Follow the way back from a loss, and add to the gradient of each leaf. */
export function backward(loss) {
  if (!loss.needs) {
    throw new Wrong("element 0 of tensors does not require grad and does not have a grad_fn");
  }
  if (loss.data.length !== 1) throw new Wrong("grad can be implicitly created only for scalar outputs");
  const found = new Set([loss]);
  for (const x of found) for (const y of x.from ?? []) if (y.needs) found.add(y);
  const grads = new Map([[loss, new Tensor(Float32Array.of(1), loss.shape)]]);
  for (const x of [...found].sort((a, b) => b.number - a.number)) {
    const g = grads.get(x);
    grads.delete(x);
    if (x.back) {
      x.back(g).forEach((grad, i) => grad && x.from[i].needs
        && grads.set(x.from[i], added(grads.get(x.from[i]), grad)));
      x.back = () => { throw new Wrong(TWICE); };
    } else {
      x.grad = added(x.grad, g);
    }
  }
}

function added(x, y) {
  if (!x) return y;
  return new Tensor(x.data.map((a, i) => a + y.data[i]), x.shape);
}
