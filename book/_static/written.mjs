/* Numbers in words, and letters in the colours of their axes. */

const UNITS = [[1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
const SIZES = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "bytes"]];
const three = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en");

/** Write a count: up to a hundred million with every digit. */
export function count(n) {
  const [unit, word] = n < 1e8 ? [1] : UNITS.find(([least]) => n >= least);
  return word ? `${three.format(n / unit)} ${word}` : whole.format(n);
}

/** Write an amount of memory. */
export function bytes(n) {
  const [unit, word] = SIZES.find(([least]) => n >= least) ?? SIZES.at(-1);
  return `${unit > 1 ? three.format(n / unit) : n} ${word}`;
}

/** Say how many times as much a number is as another. */
export function times(now, before) {
  const ratio = now / before;
  const digits = ratio < 10 ? 2 : ratio < 100 ? 1 : 0;
  const look = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return ratio < 0.01 ? "< 0.01 times" : `${ratio.toLocaleString("en", look)} times`;
}

/** Make an element of a class, with a text. */
export function element(tag, name = "", text = "") {
  const found = Object.assign(document.createElement(tag), { textContent: text });
  if (name) found.className = name;
  return found;
}

/** Mark the letters of a formula, with a dot between factors. */
export function marked(text) {
  const parts = text.replaceAll("*", "·").replaceAll("+", " + ").split(/([^\W\d]\w*)/).filter(Boolean);
  return parts.map((part) => {
    if (/^[A-Z]$/.test(part)) return element("b", `axis axis-${part}`, part);
    return /^[^\W\d]/.test(part) ? breaking(part) : part;
  });
}

/** Write a name of code, which may break at its underlines. */
function breaking(name) {
  const found = element("code");
  found.append(...name.split(/(?<=_)/).flatMap((part) => [part, element("wbr")]));
  return found;
}
