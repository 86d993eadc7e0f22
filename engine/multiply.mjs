/* Products of matrices, four numbers at a time: multiply.wat as WebAssembly. */
const CODE = "AGFzbQEAAAABDwFgC39/f39/f39/f39/AAMCAQAFAwEAAQcVAgZtZW1vcnkCAAhtdWx0aXBseQAACrwBAbkBAgV/"
  + "AXsDQEEAIQsDQCAFIANqIQ8DQCAEIAsgB2xqIQ0gBSEOIAIhDP0MAAAAAAAAAAAAAAAAAAAAACEQA0AgECAN/QkC"
  + "ACAO/QAEAP3mAf3kASEQIA0gCGohDSAOIANqIQ4gDEEBayIMDQALIAYgEP0LBAAgBkEQaiEGIAVBEGohBSAFIA9J"
  + "DQALIAUgA2shBSALQQFqIQsgCyABSQ0ACyAEIAlqIQQgBSAKaiEFIABBAWsiAA0ACws=";
const bytes = Uint8Array.from(atob(CODE), (sign) => sign.charCodeAt(0));
const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;

/** Multiply `many` matrices that lie behind one another, (n, k) @ (k, m), or with the
 * numbers of `turned`, "a" or "b", turned round: n·m numbers for each. */
export function multiply(a, b, [n, k, m], turned = "", many = 1) {
  const found = new Float32Array(many * n * m);
  if (!found.length || !k) return found;
  const row = 4 * Math.ceil(m / 4); // B and C get columns of zeros
  const [from, to] = [a.length, a.length + many * k * row];
  const needed = 4 * (to + many * n * row) - wasm.memory.buffer.byteLength;
  if (needed > 0) wasm.memory.grow(Math.ceil(needed / 65536));
  const memory = new Float32Array(wasm.memory.buffer);
  memory.set(a);
  if (turned === "b") {
    for (let i = 0, at = from; i < many; i++) {
      for (let s = 0; s < k; s++, at += row) {
        for (let j = 0, place = i * k * m + s; j < m; j++, place += k) memory[at + j] = b[place];
      }
    }
  } else if (m === row) memory.set(b, from);
  else for (let i = 0; i < many * k; i++) memory.set(b.subarray(i * m, i * m + m), from + i * row);
  const [up, along] = turned === "a" ? [1, n] : [k, 1];
  wasm.multiply(many, n, k, ...[row, 0, from, to, up, along, n * k, k * row].map((x) => 4 * x));
  if (m === row) found.set(memory.subarray(to, to + found.length));
  else {
    for (let i = 0; i < many * n; i++) {
      found.set(memory.subarray(to + i * row, to + i * row + m), i * m);
    }
  }
  return found;
}
