/* Parameters as they are kept in a page: half-precision numbers, one after the
 * other, in base64. */

import { Tensor } from "./tensor.mjs";

/** Read {name: shape} and the numbers of all of them. */
export function parameters(shapes, text) {
  const signs = atob(text);
  let at = 0;
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < data.length; i++) {
      data[i] = half(signs.charCodeAt(at++) | (signs.charCodeAt(at++) << 8));
    }
    return [name, new Tensor(data, shape)];
  }));
}

/** Read a half-precision number: sign, five bits of exponent, ten of the rest. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const rest = bits & 1023;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return exponent
    ? sign * 2 ** (exponent - 15) * (1 + rest / 1024)
    : sign * 2 ** -24 * rest;
}
