/* Tensors, as small as the explorer's model allows: a shape, and the numbers
 * in the order of the last axis. Names and meanings are PyTorch's, but that
 * nothing is changed in place, and nothing shares its numbers. */

export class Tensor {
  constructor(data, shape) {
    this.data = data;
    this.shape = shape;
  }

  /** Make a tensor from f(index, ...), which is given an index for each axis. */
  static of(shape, f) {
    const data = new Float64Array(size(shape));
    const place = Array(shape.length).fill(0);
    for (let i = 0; i < data.length; i++) {
      data[i] = f(...place);
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        if (++place[axis] < shape[axis]) break;
        place[axis] = 0;
      }
    }
    return new Tensor(data, shape);
  }

  /** Give the number at a place: an index for each axis. */
  at(...place) {
    const steps = stepsOf(this.shape);
    return this.data[place.reduce((sum, p, axis) => sum + p * steps[axis], 0)];
  }

  /** Apply f to each number. */
  map(f) {
    return new Tensor(this.data.map((x) => f(x)), this.shape);
  }

  /** Combine with a number or a tensor; axes of size 1 are repeated. */
  zip(other, f) {
    if (!(other instanceof Tensor)) return this.map((x) => f(x, other));
    const shape = common(this.shape, other.shape);
    const [mine, theirs] = [this.expand(shape).data, other.expand(shape).data];
    return new Tensor(mine.map((x, i) => f(x, theirs[i])), shape);
  }

  add(other) { return this.zip(other, (a, b) => a + b); }
  sub(other) { return this.zip(other, (a, b) => a - b); }
  mul(other) { return this.zip(other, (a, b) => a * b); }
  div(other) { return this.zip(other, (a, b) => a / b); }

  /** Repeat axes of size 1, and put missing ones in front. */
  expand(shape) {
    const missing = shape.length - this.shape.length;
    const own = [...Array(missing).fill(1), ...this.shape];
    const steps = stepsOf(own).map((step, axis) => (own[axis] === 1 ? 0 : step));
    return same(shape, this.shape) ? this : this.gather(shape, steps);
  }

  /** Read the same numbers, in the same order, with another shape. */
  view(...shape) {
    if (size(shape) !== this.data.length) {
      throw new RangeError(`(${this.shape}) does not fit into (${shape})`);
    }
    return new Tensor(this.data, shape);
  }

  /** Swap two axes. */
  transpose(a, b) {
    return this.gather(swapped(this.shape, a, b), swapped(stepsOf(this.shape), a, b));
  }

  /** Swap the last two axes: done once, since nothing changes. */
  get mT() {
    return this.swapped ??= this.transpose(this.shape.length - 2, this.shape.length - 1);
  }

  /** Read numbers with these steps between neighbours along each axis. */
  gather(shape, steps) {
    return new Tensor(offsets(shape, steps).map((i) => this.data[i]), shape);
  }

  /** Multiply matrices, (..., n, k) @ (..., k, m), for each index in front. */
  matmul(other) {
    const [n, k] = this.shape.slice(-2);
    const m = other.shape.at(-1);
    if (other.shape.at(-2) !== k) {
      throw new RangeError(`(${this.shape}) @ (${other.shape}) does not fit`);
    }
    const front = common(this.shape.slice(0, -2), other.shape.slice(0, -2));
    const a = this.expand([...front, n, k]).data;
    const one = size(other.shape) === k * m; // a matrix for all
    const b = one ? other.data : other.expand([...front, k, m]).data;
    const product = new Float64Array(size(front) * n * m);
    for (let row = 0; row < size(front) * n; row++) {
      const matrix = one ? 0 : Math.floor(row / n) * k * m;
      for (let i = 0; i < k; i++) {
        const x = a[row * k + i];
        for (let column = 0; column < m; column++) {
          product[row * m + column] += x * b[matrix + i * m + column];
        }
      }
    }
    return new Tensor(product, [...front, n, m]);
  }

  /** Make one number of each line along an axis, which stays with size 1. */
  reduce(axis, f) {
    const along = axis < 0 ? axis + this.shape.length : axis;
    const steps = stepsOf(this.shape);
    const shape = this.shape.with(along, 1);
    const [n, step] = [this.shape[along], steps[along]];
    const line = (start) => step === 1 ? this.data.subarray(start, start + n)
      : Float64Array.from({ length: n }, (_, i) => this.data[start + i * step]);
    return new Tensor(offsets(shape, steps).map((start) => f(line(start))), shape);
  }

  sum(axis) { return this.reduce(axis, (line) => line.reduce((a, b) => a + b, 0)); }
  max(axis) { return this.reduce(axis, (line) => Math.max(...line)); }
  mean(axis) { return this.sum(axis).div(this.shape.at(axis)); }

  /** Measure how far numbers lie from their mean; unbiased, if `less` is 1. */
  variance(axis, less = 0) {
    const centred = this.sub(this.mean(axis));
    return centred.mul(centred).sum(axis).div(this.shape.at(axis) - less);
  }

  /** Turn each line along an axis into shares that sum to 1. */
  softmax(axis) {
    const exps = this.sub(this.max(axis)).map(Math.exp);
    return exps.div(exps.sum(axis));
  }

  /** Look rows of a table up: (V, C) and ids (B, T) give (B, T, C). */
  rows(ids) {
    const width = this.shape.at(-1);
    const data = new Float64Array(ids.data.length * width);
    ids.data.forEach((id, i) =>
      data.set(this.data.subarray(id * width, (id + 1) * width), i * width));
    return new Tensor(data, [...ids.shape, width]);
  }

  /** Keep the first n rows of a table. */
  first(n) {
    const width = this.shape.at(-1);
    return new Tensor(this.data.slice(0, n * width), [n, width]);
  }
}

/** Make a tensor of whole numbers from equally long rows of them: (B, T). */
export function ids(rows) {
  return new Tensor(Float64Array.from(rows.flat()), [rows.length, rows[0].length]);
}

/** Count the numbers of a shape. */
function size(shape) {
  return shape.reduce((a, b) => a * b, 1);
}

function same(a, b) {
  return a.length === b.length && a.every((n, i) => n === b[i]);
}

function swapped(list, a, b) {
  return list.with(a, list[b]).with(b, list[a]);
}

/** Say how far apart two neighbours along each axis lie. */
function stepsOf(shape) {
  return shape.map((_, axis) => size(shape.slice(axis + 1)));
}

const kept = new Map(); // the same few shapes come again and again

/** List where each number of a shape is read, with these steps. */
function offsets(shape, steps) {
  const key = `${shape}:${steps}`;
  if (!kept.has(key)) kept.set(key, listed(shape, steps));
  return kept.get(key);
}

function listed(shape, steps) {
  let found = new Float64Array(1);
  shape.forEach((n, axis) => {
    const next = new Float64Array(found.length * n);
    for (let i = 0; i < next.length; i++) {
      next[i] = found[Math.floor(i / n)] + (i % n) * steps[axis];
    }
    found = next;
  });
  return found;
}

/** Give the shape that two shapes have together; size 1 fits every size. */
function common(a, b) {
  const length = Math.max(a.length, b.length);
  const long = ([...shape]) => [...Array(length - shape.length).fill(1), ...shape];
  const other = long(b);
  return long(a).map((n, axis) => {
    if (n !== other[axis] && n !== 1 && other[axis] !== 1) {
      throw new RangeError(`(${a}) and (${b}) do not fit together`);
    }
    return n === 1 ? other[axis] : n;
  });
}
