/* The book's translator, as pages use it: `translator` has its numbers and its
 * words. What it computes with are the modules of explorer. */
import { parameters } from "./parameters.mjs";
import { Translator } from "./model.mjs";
import { ids } from "./tensor.mjs";
import { LENGTH, PAD, UNK, firstWords, outcome, row, run, wordByWord } from "./translate.mjs";

export const [english, nepali] =
  translator.words.map((known) => new Map(Object.entries(known)));
const wordOf = new Map([...nepali].map(([word, id]) => [id, word]));
let numbers = null; // read when they are needed

/** Give the word of an id. */
export const named = (id) => wordOf.get(id) ?? `[${id}]`;

/** Write words and marks as a sentence. */
export const joined = (typed) => typed.join(" ").replace(/ ([.,?!])/g, "$1");

/** Make the model, with some of its parts changed. */
export function modelWith(changed) {
  numbers ??= parameters(translator.shapes, translator.numbers);
  return new Translator(numbers, translator, changed);
}

/** Translate a sentence, a word at a time: in the end the ids, for each word
 * written the logits of every word, and all steps of the run in which everything
 * is written. `share(t, s)` is the attention of the t-th word written to the s-th
 * read, the mean of the heads. */
export function* translation(model, text) {
  const [source, logits] = [row(text, english), []];
  const first = firstWords(text).map((word) => nepali.get(word) ?? UNK);
  const written = yield* wordByWord(model, source, (scores) => logits.push([...scores]), first);
  const target = [...written.slice(0, -1), ...Array(LENGTH).fill(PAD)].slice(0, LENGTH);
  const steps = run(model, ids([source]), ids([target]));
  const weights = steps.values.get("decoder.blocks.0.cross_attention:weights");
  const heads = [...Array(weights.shape[1]).keys()];
  const share = (t, s) => heads.reduce((sum, h) => sum + weights.at(0, h, t, s), 0) / heads.length;
  const found = { text, source, target, written: written.slice(1), logits, share, steps };
  last.set(model, found);
  return found;
}

const last = new WeakMap(); // what each model has translated

/** Translate a sentence at once, or give what was just translated. */
export function translate(model, text) {
  const kept = last.get(model);
  return kept?.text === text ? kept : outcome(translation(model, text));
}

/** Wait until the page has answered its reader. */
export const rest = () => new Promise((rested) => setTimeout(rested));

/** Do all steps of something with a rest before each, and give what comes of them. */
export async function slowly(steps) {
  for (;;) {
    await rest();
    const { value, done } = steps.next();
    if (done) return value;
  }
}
