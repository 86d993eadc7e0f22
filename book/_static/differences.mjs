/* Where two translations of one sentence part. */

// What is no number in Python is null here.
const shown = (x) => x?.toFixed?.(3) ?? x ?? "NaN";
const apart = ({ one: a, other: b }) => (a === b ? 0 : [a, b].every(Number.isFinite) ? Math.abs(a - b) : Infinity);

/** Find the first module in which what the engine found differs from what it found with
 * another bug, its `path`, and there the `place` that differs most; null if none does. */
export function firstDifference(one, other) {
  const most = compared(one, other).map((places) => places.toSorted((a, b) => apart(b) - apart(a))[0]);
  const first = most.find((place) => place && apart(place) > 0.005); // less is rounding, or nothing that one sees
  return first ? { ...first, one: shown(first.one), other: shown(first.other) } : null;
}

/** List all that can be compared: in the order in which it is computed, what is at each
 * place. The decoder's weights mean the same only where the words do. */
function compared({ read, written, attentions, chances }, other) {
  const { written: words = [], attentions: others = [], chances: likely } = other;
  const weightsOf = (side) => attentions.filter(({ path }) => path.startsWith(side)).map(({ path, weights }) => {
    const theirs = others.find((layer) => layer.path === path)?.weights;
    const encoder = side === "encoder";
    const columns = encoder || path.includes("cross") ? read : ["[SOS]", ...written];
    return weights.flatMap((head, h) => (encoder ? read : written).flatMap((row, t) => head[t]?.map((x, s) => ({
      path, one: x, other: theirs?.[h]?.[t]?.[s],
      place: `the weight of ${columns[s] ?? "[PAD]"} ${encoder ? "for" : "when it writes"} ${row} in ${path}, head ${h},`,
    })) ?? []));
  });
  const [decoder, last] = ["the decoder: every weight of the encoder is the same", "the last layers: every weight is the same"];
  return [...weightsOf("encoder"), [...Array(8).keys()].map((t) => (
    { path: decoder, place: `word ${t + 1}`, one: written[t] ?? "missing", other: words[t] ?? "missing" }
  )), ...weightsOf("decoder"), chances.map(([[, share]], t) => (
    { path: last, place: `the chance of ${written[t]}`, one: share, other: likely?.[t]?.[0][1] }
  ))];
}
