/* The book's translator, as pages use it: `translator` has its numbers and its
 * words. What it computes with are the modules of tformer_lite/explorer. */
import { parameters } from "./parameters.mjs";
import { Translator } from "./model.mjs";
import { ids } from "./tensor.mjs";
import { LENGTH, PAD, greedy, row, run } from "./translate.mjs";

export const [english, nepali] =
  translator.words.map((known) => new Map(Object.entries(known)));
const wordOf = new Map([...nepali].map(([word, id]) => [id, word]));
const numbers = parameters(translator.shapes, translator.numbers);

/** Give the word of an id. */
export const named = (id) => wordOf.get(id) ?? `[${id}]`;

/** Write words and marks as a sentence. */
export const joined = (typed) => typed.join(" ").replace(/ ([.,?!])/g, "$1");

/** Make the model, with some of its parts changed. */
export const modelWith = (changed) => new Translator(numbers, translator, changed);

/** Translate a sentence: the ids, for each word written the logits of every
 * word, and all steps of the run in which everything is written. `share(t, s)`
 * is the attention of the t-th word written to the s-th read, the mean of the
 * heads. */
export function translate(model, text) {
  const [source, logits] = [row(text, english), []];
  const written = greedy(model, source, (scores) => logits.push([...scores]));
  const target = [...written.slice(0, -1), ...Array(LENGTH).fill(PAD)].slice(0, LENGTH);
  const steps = run(model, ids([source]), ids([target]));
  const weights = steps.values.get("decoder.blocks.0.cross_attention:weights");
  const heads = [...Array(weights.shape[1]).keys()];
  const share = (t, s) => heads.reduce((sum, h) => sum + weights.at(0, h, t, s), 0) / heads.length;
  return { source, target, written: written.slice(1), logits, share, steps };
}
