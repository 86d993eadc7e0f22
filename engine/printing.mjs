/* A tensor as PyTorch prints it. */
import { strides } from "./tensor.mjs";

const [MOST, EDGE, WIDTH] = [1000, 3, 80];

export function written({ data, shape, kind, needs, back }) {
  if (!data.length) return `tensor([]${shape.length > 1 ? `, size=(${shape.join(", ")})` : ""})`;
  const numbers = { bool: (x) => (x ? "True" : "False"), int: String, float: inFloats(data) }[kind];
  const short = data.length > MOST;
  const steps = strides(shape);
  const shown = (axis) => (short && shape[axis] > 2 * EDGE
    ? [0, 1, 2, null, -3, -2, -1].map((i) => (i < 0 ? i + shape[axis] : i))
    : [...Array(shape[axis]).keys()]);
  const seen = [];
  const visit = (axis, at) => (axis === shape.length
    ? seen.push(Number.isFinite(data[at]) ? numbers(data[at]).length : 1)
    : shown(axis).forEach((i) => i !== null && visit(axis + 1, at + i * steps[axis])));
  visit(0, 0);
  const wide = seen.reduce((a, b) => Math.max(a, b), 0);
  const one = (x) => numbers(x).padStart(wide);
  const line = (axis, at, indent) => {
    if (axis === shape.length) return one(data[at]);
    const parts = shown(axis).map((i) =>
      (i === null ? (axis === shape.length - 1 ? " ..." : "...") : line(axis + 1, at + i * steps[axis], indent + 1)));
    if (axis < shape.length - 1) {
      return `[${parts.join(`,${"\n".repeat(shape.length - axis - 1)}${" ".repeat(indent + 1)}`)}]`;
    }
    const each = Math.max(1, Math.floor((WIDTH - indent) / (wide + 2)));
    const lines = [];
    for (let i = 0; i < parts.length; i += each) lines.push(parts.slice(i, i + each).join(", "));
    return `[${lines.join(`,\n${" ".repeat(indent + 1)}`)}]`;
  };
  return `tensor(${line(0, 0, 7)}${needs && !back ? ", requires_grad=True" : ""})`;
}

/** Choose how floats are written: as whole numbers, with four decimals, or with an
 * exponent. */
function inFloats(data) {
  const sizes = data.filter((x) => x !== 0 && Number.isFinite(x)).map(Math.abs);
  const [least, most] = [Math.min, Math.max].map((f) => sizes.reduce((a, b) => f(a, b), sizes[0] ?? 1));
  const whole = sizes.every(Number.isInteger);
  const far = most / least > 1000 || most > 1e8 || (!whole && least < 1e-4);
  return (x) => {
    if (!Number.isFinite(x)) return String(x).replace("Infinity", "inf").replace("NaN", "nan");
    if (far && !(whole && most < 1e8)) return x.toExponential(4).replace(/e([+-])(\d)$/, "e$10$2");
    return whole ? `${x}.` : x.toFixed(4);
  };
}
