/* The sentences that the translator was made for. `grammar` is a machine that
 * reads words: each state lists words and the state that they lead to, and the
 * last one is the first; "" ends a sentence. */

const leads = new WeakMap(); // of the states that were seen

/** Give the state that each word of a list leads to. */
function leadsOf(list) {
  if (!leads.has(list)) {
    leads.set(list, new Map(list.flatMap(([together, state]) =>
      together.split(" ").map((word) => [word, state]))));
  }
  return leads.get(list);
}

/** Read words: where one may go from where one arrives; nowhere after other words. */
function ways(grammar, words) {
  return leadsOf(words.reduce((list, word) =>
    grammar[leadsOf(list).get(word)] ?? [], grammar.at(-1)));
}

/** List the words that may come after some others. */
export function following(grammar, words) {
  return [...ways(grammar, words).keys()].filter(Boolean).sort();
}

/** List the words that may stand in the place of one, so that the whole is still
 * a sentence; itself among them, if it is one. */
export function fitting(grammar, words, place) {
  return following(grammar, words.slice(0, place)).filter((word) =>
    isSentence(grammar, words.with(place, word)));
}

/** Tell whether words are a whole sentence. */
export function isSentence(grammar, words) {
  return ways(grammar, words).has("");
}

const FORMS = ["i me", "we us", "he him", "they them", "was were"];
const itself = (word) => word;
const otherForm = (word) => FORMS.map((pair) => pair.split(" "))
  .find((pair) => pair.includes(word))?.find((form) => form !== word) ?? word;

/** Let the one who does something and the one to whom it is done change places:
 * the parts of the sentence, as they are cut below, and the words `turned` round;
 * null unless the grammar makes both sentences. */
export function turnRound(grammar, words) {
  if (!isSentence(grammar, words)) return null;
  for (const parts of cuts(words.slice(0, -1))) {
    const [front, one, verb, other] = parts;
    for (const agree of [itself, otherForm]) {
      const swap = [front.map(agree), other.map(otherForm), verb.map(agree), one.map(otherForm)];
      const turned = [...swap.flat(), words.at(-1)];
      if (isSentence(grammar, turned)) return { parts, turned };
    }
  }
  return null;
}

/** Cut words in all ways into one in front or none, somebody, a verb, and somebody
 * else: the shortest verb first, which takes no adjective away. */
function* cuts(words) {
  for (let verb = 1; verb < words.length; verb++) {
    for (const from of [0, 1]) {
      for (let to = from + 1; to + verb < words.length; to++) {
        yield [[0, from], [from, to], [to, to + verb], [to + verb]]
          .map((ends) => words.slice(...ends));
      }
    }
  }
}
