/* Numbers, and how they came about, in words. */

const MOST = 12; // terms that are written out
const places = { maximumFractionDigits: 2, minimumFractionDigits: 2 };
const digits = new Intl.NumberFormat("en", places);

/** Write a number with two decimals. */
export function written(x) {
  if (x === -Infinity) return "−∞";
  return digits.format(x).replace("-", "−").replace(/^−(0\.00)$/, "$1");
}

/** Tell whether two numbers are other than by rounding. */
export function differ(x, y) {
  return !Object.is(x, y) && !(Math.abs(x - y) < 1e-6);
}

/** Make n pairs, or whatever f makes of the numbers from 0 up. */
export function pairs(n, f) {
  return Array.from({ length: n }, (_, i) => f(i));
}

/** Add products up, and do f to the sum: `then` says what that is. */
export function sum(terms, f = (x) => x, then = []) {
  return { terms, then, value: f(terms.reduce((all, [a, b]) => all + a * b, 0)) };
}

/** Tell what share of a row a softmax gives to one of its scores. */
export function share(row, place) {
  const top = Math.max(...row);
  const exps = row.map((x) => Math.exp(x - top));
  const all = exps.reduce((a, x) => a + x, 0);
  const says = `${written(exps[place])} is e to the power of this score minus the row's largest; ${written(all)} is the sum of such powers in the row`;
  return { ...sum([[exps[place], 1]], (x) => x / all, ["÷", all]), says };
}

/** Write out how a number was made: pairs of `terms` are multiplied and added
 * up, `then` is done to the sum; or the `larger` of it and 0 is taken. */
export function inWords({ terms, then = [], value, why, says, larger, given }) {
  if (given) return `${written(value)} (${given})`;
  if (why) return `${why}, so the score ${written(terms[0][0])} becomes ${written(value)}`;
  let text = sumOf(terms);
  const after = then.map((x) => (typeof x === "number" ? written(x) : x)).join(" ")
    .replaceAll("+ −", "− ");
  if (after) text = terms.length > 1 ? `(${text}) ${after}` : `${text} ${after}`;
  if (larger) text = `max(${text}, 0)`;
  const made = terms.length > 1 || after || larger || terms[0][1] !== 1
    ? `${text} = ${written(value)}` : `${text}, as it came in`;
  return says ? `${made} (${says})` : made;
}

/** Write products and their sum; of many, the largest. */
function sumOf(terms) {
  const products = terms.map(([a, b]) => (b === 1 ? written(a) : `${written(a)} × ${written(b)}`));
  const order = terms.map(([a, b], i) => [Math.abs(a * b), i]).sort((a, b) => b[0] - a[0]);
  const kept = new Set(order.slice(0, MOST).map(([, i]) => i));
  const text = products.filter((_, i) => kept.has(i)).join(" + ").replaceAll("+ −", "− ");
  return terms.length > MOST ? `${text} + ${terms.length - MOST} smaller terms` : text;
}
