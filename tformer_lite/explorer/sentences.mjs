/* The sentences that the translator was made for. `grammar` is a machine that
 * reads words: each state lists words and the state that they lead to, and the
 * last one is the first; "" ends a sentence. */

/** Read words: the ways on from where one arrives; none after other words. */
function ways(grammar, words) {
  return words.reduce((list, word) => {
    const way = list.find(([known]) => known.split(" ").includes(word));
    return way ? grammar[way[1]] : [];
  }, grammar.at(-1));
}

/** List the words that may come after some others. */
export function following(grammar, words) {
  const known = ways(grammar, words).flatMap(([together]) => together.split(" "));
  return known.filter(Boolean).sort();
}

/** List the words that may stand in the place of one, so that the whole is still
 * a sentence; itself among them, if it is one. */
export function fitting(grammar, words, place) {
  return following(grammar, words.slice(0, place)).filter((word) =>
    isSentence(grammar, words.with(place, word)));
}

/** Tell whether words are a whole sentence. */
export function isSentence(grammar, words) {
  return ways(grammar, words).some(([known]) => known === "");
}
