/* PyTorch's own generator of random numbers, so that a seed means here what it means
 * there: Mersenne twister, and what CPU tensors make of its words. */

const [N, M] = [624, 397];
const words = new Uint32Array(N);
let [at, spare] = [N, null];

/** Begin anew, as torch.manual_seed does. */
export function seed(start) {
  words[0] = start;
  for (let i = 1; i < N; i++) {
    const x = words[i - 1] ^ (words[i - 1] >>> 30);
    words[i] = Math.imul(1812433253, x) + i;
  }
  [at, spare] = [N, null];
}

/** Give 32 random bits. */
export function word() {
  if (at === N) {
    for (let i = 0; i < N; i++) {
      const x = (words[i] & 0x80000000) | (words[(i + 1) % N] & 0x7fffffff);
      words[i] = words[(i + M) % N] ^ (x >>> 1) ^ (x & 1 ? 0x9908b0df : 0);
    }
    at = 0;
  }
  let y = words[at++];
  y ^= y >>> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return (y ^ (y >>> 18)) >>> 0;
}

const uniform = () => (word() & 0xffffff) / 2 ** 24;
const exactly = () => {
  const high = word();
  return ((high & 0x1fffff) * 2 ** 32 + word()) / 2 ** 53;
};

/** Fill an array with numbers between two others. */
export function fillUniform(data, from, to) {
  for (let i = 0; i < data.length; i++) data[i] = uniform() * (to - from) + from;
}

/** Fill an array with numbers of a normal distribution: sixteen at a time, or, of
 * fewer, two at a time. */
export function fillNormal(data, mean, std) {
  if (data.length < 16) {
    for (let i = 0; i < data.length; i++) data[i] = one() * std + mean;
    return;
  }
  fillUniform(data, 0, 1);
  const whole = data.length - (data.length % 16);
  for (let from = 0; from < whole; from += 16) sixteen(data.subarray(from, from + 16), mean, std);
  if (whole === data.length) return;
  const last = data.subarray(data.length - 16);
  fillUniform(last, 0, 1);
  sixteen(last, mean, std);
}

function sixteen(data, mean, std) {
  for (let i = 0; i < 8; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - data[i]));
    const angle = 2 * Math.PI * data[i + 8];
    data[i] = radius * Math.cos(angle) * std + mean;
    data[i + 8] = radius * Math.sin(angle) * std + mean;
  }
}

function one() {
  if (spare !== null) {
    const kept = spare;
    spare = null;
    return kept;
  }
  const [angle, u] = [2 * Math.PI * exactly(), exactly()];
  const radius = Math.sqrt(-2 * Math.log1p(-u));
  spare = radius * Math.sin(angle);
  return radius * Math.cos(angle);
}

/** Draw whole numbers from `low` to before `high`. */
export function fillIntegers(data, low, high) {
  for (let i = 0; i < data.length; i++) data[i] = low + (word() % (high - low));
}

/** Shuffle the numbers from 0 to before n. */
export function permutation(n) {
  const order = Float32Array.from({ length: n }, (_, i) => i);
  for (let i = 0; i < n - 1; i++) {
    const j = i + (word() % (n - i));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

seed(Math.floor(2 ** 32 * Math.random()));
