/* Compares a typed shape with a measured one, and says which axis is wrong.

   An axis is { name, size }: a letter such as "H", a product "H*D", or "1".
   `letters` maps each axis letter to { name, size, code }, in words: "heads",
   3, "n_heads". Nothing here is written for one question. */

const PLACES = ["first", "second", "third", "fourth", "fifth", "sixth"];

/** Say of a typed shape how it differs from the one that was measured.
 *
 *  Gives { verdict, says }; a verdict is "right", "nearly" (the sizes are
 *  right, a letter is not), "wrong", or "unread". */
export function check(typed, measured, letters) {
  const known = withSizes(letters, measured);
  const { axes, unread } = read(typed, known);
  if (unread) return { verdict: "unread", says: unread };
  const fits = axes.length === measured.length
    && axes.every((axis, i) => axis.size === measured[i].size);
  if (!fits) {
    const says = difference(axes, measured, known);
    return { verdict: "wrong", says: `Not yet: ${says}` };
  }
  const says = letterDifference(axes, measured, known);
  return says
    ? { verdict: "nearly", says: `Nearly: the sizes are right, but ${says}` }
    : { verdict: "right", says: `Right: ${confirmed(axes, measured)}` };
}

/** Read "B 2,H 3" as axes: how a page writes a measured shape. */
export function written(text) {
  return text.split(",").filter(Boolean).map(axis => {
    const at = axis.lastIndexOf(" ");
    return { name: axis.slice(0, at), size: Number(axis.slice(at + 1)) };
  });
}

/** A letter has the size that it has in the measured shape. */
function withSizes(letters, measured) {
  const known = new Map(letters);
  for (const { name, size } of measured) {
    if (known.has(name)) known.set(name, { ...known.get(name), size });
  }
  return known;
}

// --- what was typed --------------------------------------------------------

/** Read a shape: sizes, letters, products, in brackets or not. */
function read(typed, known) {
  const text = typed
    .replace(/torch\.Size|[()[\]`'"]|\.\s*$/g, " ")
    .replace(/\b(\d{1,3}),(0\d\d)\b/g, "$1$2") // 1,024
    .replace(/\s*[*·]\s*/g, "*")
    .replace(/([A-Za-z_]\w*)\s*=\s*\d+/g, "$1") // B=2
    .replace(/(?<=\d)\s*x\s*(?=\d)|\s+x\s+|×/g, " ");
  let words = text.split(/[\s,;]+/).filter(Boolean);
  if (!words.length && /^\s*\(\s*\)\s*$/.test(typed)) return { axes: [] };
  if (!words.length) return { unread: `Type a shape. ${howTo(known)}` };
  if (words.length === 1 && isRun(words[0], known)) words = [...words[0]];
  const axes = words.map(word => axisOf(word, known));
  const bad = words.find((_, i) => !axes[i]);
  return bad === undefined ? { axes } : { unread: complaint(bad, known) };
}

/** Whether a word is nothing but axis letters: BTC. */
function isRun(word, known) {
  return [...word].every(letter => known.has(letter.toUpperCase()));
}

/** Read one axis: 8, T, t, n_heads, H*D or HD; null if it is none. */
function axisOf(word, known) {
  const coded = [...known].find(([, { code }]) => code && code === word);
  if (coded) return { name: coded[0], size: coded[1].size };
  const factors = word.toUpperCase().match(/\d+|[A-Z]/g) ?? [];
  const whole = factors.join("") === word.toUpperCase().replaceAll("*", "");
  const size = product(factors.map(f => known.get(f)?.size ?? Number(f)));
  if (!whole || !factors.length || Number.isNaN(size)) return null;
  const named = factors.every(factor => known.has(factor));
  return { name: named ? factors.join("*") : null, size };
}

function complaint(word, known) {
  if (/^-\d+$/.test(word)) {
    return `${word} lets PyTorch work a size out. Which one will it be?`;
  }
  const what = /^[A-Za-z]$/.test(word) ? "no axis letter" : "no axis";
  return `“${word}” is ${what} that I know. ${howTo(known)}`;
}

function howTo(known) {
  const letters = [...known.keys()].join(" ");
  return `A shape is its axes in order: sizes, or letters of ${letters}.`;
}

// --- how it differs --------------------------------------------------------

/** Say what is different where the sizes are. */
function difference(axes, measured, known) {
  const [extra, missing] = unmatched(axes, measured);
  const name = axis => inWords(axis, known);
  if (!extra.length && !missing.length) return order(axes, measured, name);
  if (!extra.length) return lacking(missing, axes, measured, name);
  if (!missing.length) {
    const sizes = extra.map(axis => sizedIn(axis, known));
    return `${counted(extra)} too many: ${list(sizes)}.`;
  }
  if (extra.length === 1 && missing.length > 1 && equal(extra, missing)) {
    const factors = missing.map(letter).join(" · ");
    return `${list(missing.map(name))} are still joined: `
      + `${extra[0].size} = ${factors}.`;
  }
  if (missing.length === 1 && extra.length > 1 && equal(extra, missing)) {
    const factors = extra.map(letter);
    return `${list(factors)} are one axis here: ${name(missing[0])}, `
      + `${missing[0].size} = ${factors.join(" · ")}.`;
  }
  return mismatch(axes, measured, extra, missing, known);
}

/** The typed axes, and the measured ones, that have no partner of their
 *  size; partners of the same letter are found first. */
function unmatched(axes, measured) {
  const left = [...measured];
  const same = [
    (a, b) => a.name === b.name && a.size === b.size,
    (a, b) => a.size === b.size,
  ];
  let extra = axes;
  for (const agree of same) {
    extra = extra.filter(axis => {
      const at = left.findIndex(other => agree(axis, other));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  }
  return [extra, left];
}

/** All axes are there, in another order. */
function order(axes, measured, name) {
  const wrong = places(axes, (axis, i) => axis.size !== measured[i].size);
  const [one, two] = wrong.map(i => name(measured[i]));
  if (wrong.length === 2) {
    return `${one} and ${two} are swapped: transposed where?`;
  }
  const place = placeOf(wrong[0], measured);
  return `these are the axes, in another order. The ${place} is ${one}.`;
}

/** Axes are missing; where sizes are alike, which one is not known. */
function lacking(missing, axes, measured, name) {
  if (missing.length > 2) return tooFew(axes, measured, missing, name);
  const typed = new Set(axes.map(axis => axis.name));
  const which = missing.map(({ name: own, size }) => {
    const alike = measured.filter(
      axis => axis.size === size && !typed.has(axis.name),
    );
    const names = [...new Set([own, ...alike.map(axis => axis.name)])];
    return names.map(each => name({ name: each, size })).join(" or ");
  });
  return `${counted(missing)} missing: ${list(which)}.`;
}

function tooFew(axes, measured, missing, name) {
  return `${counted(measured)} expected, your shape has ${axes.length}. `
    + `One that is missing: ${name(missing[0])}.`;
}

/** Some have other sizes: show the first. */
function mismatch(axes, measured, extra, missing, known) {
  if (axes.length !== measured.length) {
    const name = axis => inWords(axis, known);
    return tooFew(axes, measured, missing, name);
  }
  const at = axes.findIndex((axis, i) => axis.size !== measured[i].size);
  const more = extra.length > 1 ? `${extra.length} axes are not right; ` : "";
  return `${more}the ${placeOf(at, measured)} axis cannot be `
    + `${sizedIn(axes[at], known)}; here it is ${sized(measured[at], known)}.`;
}

/** Say which letter is another one, where all sizes agree; "" if none is. */
function letterDifference(axes, measured, known) {
  const wrong = places(axes, ({ name }, i) => {
    return name !== null && name !== measured[i].name;
  });
  if (!wrong.length) return "";
  const at = wrong[0];
  const names = wrong.map(i => inWords(measured[i], known));
  const [one, two] = wrong.map(i => measured[i].name);
  const crossed = wrong.length === 2 && axes[wrong[1]].name === one;
  if (crossed && axes[at].name === two) {
    return `${list(names)} are swapped: both are ${axes[at].size}.`;
  }
  return `the ${placeOf(at, measured)} axis is ${names[0]}, not `
    + `${letter(axes[at])}: both are ${axes[at].size} here.`;
}

/** Repeat a right answer in sizes and letters, and what sizes cannot tell. */
function confirmed(axes, measured) {
  const sizes = measured.map(axis => axis.size).join(", ");
  const says = `(${sizes}) is (${measured.map(letter).join(", ")}).`;
  const twins = measured.filter(({ name, size }, i) => measured.some(
    (other, j) => other.size === size && other.name !== name
      && (axes[i].name === null || axes[j].name === null),
  ));
  const names = [...new Set(twins.map(letter))];
  if (names.length !== 2) return says;
  return `${says} ${list(names)} are both ${twins[0].size} here, so `
    + "sizes alone do not tell them apart.";
}

// --- words -----------------------------------------------------------------

/** Name an axis: heads (H). */
function inWords({ name, size }, known) {
  if (name === "1" || (!name && size === 1)) return "an axis of size 1";
  if (!name) return String(size);
  const words = name.split("*").map(each => known.get(each)?.name ?? each);
  return `${words.join(" times ")} (${letter({ name })})`;
}

/** Name an axis and its size: heads (H), 3. */
function sized(axis, known) {
  const words = inWords(axis, known);
  return axis.size === 1 ? words : `${words}, ${axis.size}`;
}

/** Name a typed axis; a size, with all the letters that it could be. */
function sizedIn(axis, known) {
  if (axis.name || axis.size === 1) return sized(axis, known);
  const fitting = [...known].filter(([, { size }]) => size === axis.size);
  const names = fitting.map(([name]) => inWords({ name }, known));
  return names.length
    ? `${axis.size}, the size of ${names.join(" or ")}`
    : `${axis.size}, which is the size of no letter`;
}

function letter({ name, size }) {
  return name ? name.replaceAll("*", "·") : String(size);
}

function placeOf(i, axes) {
  const isLast = axes.length > 1 && i === axes.length - 1;
  return isLast ? "last" : PLACES[i] ?? `${i + 1}th`;
}

function counted(axes) {
  return axes.length === 1 ? "one axis is" : `${axes.length} axes are`;
}

/** Join words: a, b and c; what comes again is "another". */
function list(words) {
  const told = words.map((w, i) => words.indexOf(w) < i ? "another" : w);
  return [told.slice(0, -1).join(", "), told.at(-1)].filter(Boolean)
    .join(" and ");
}

function equal(some, others) {
  const [a, b] = [some, others].map(axes => product(axes.map(x => x.size)));
  return a === b;
}

function product(numbers) {
  return numbers.reduce((a, b) => a * b, 1);
}

function places(axes, test) {
  return [...axes.keys()].filter(i => test(axes[i], i));
}
