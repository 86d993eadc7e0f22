/* From a sentence to its translation: words to ids, and the likeliest word
 * again and again. */

import { ids } from "./tensor.mjs";

export const [UNK, PAD, SOS, EOS] = [0, 1, 2, 3];
export const LENGTH = 8;

/** Cut a text at spaces and around . , ! ? and the danda, in small letters. */
const cut = (text) => text.normalize("NFC").toLowerCase().match(/[^\s.,!?।]+|[.,!?।]/gu) ?? [];
const isNepali = (word) => /[ऀ-ॿ]/u.test(word);

/** Give the words and marks of a sentence, without Nepali ones. */
export const words = (text) => cut(text).filter((word) => !isNepali(word));
/** Give the Nepali words with which somebody wants the translation to begin. */
export const firstWords = (text) => cut(text).filter(isNepali);

/** Lay a sentence out as a row of ids: start, words, end, padding. Raises
 * RangeError for one that does not fit. */
export function row(text, vocabulary) {
  const found = words(text).map((word) => vocabulary.get(word) ?? UNK);
  if (found.length > LENGTH - 2) {
    throw new RangeError(`${found.length} words and signs; the model reads ${LENGTH - 2}`);
  }
  return padded([SOS, ...found, EOS]);
}

/** Write the likeliest word until the end or 8 tokens, after the ids `first`: in the
 * end a row of ids. What is not written yet is padding, as in the book's pictures;
 * `each` is given the logits of each word, of length V. */
export function* wordByWord(model, source, each = () => {}, first = []) {
  const src = ids([source]);
  const memory = model.encode(src);
  const written = [SOS];
  while (written.length < LENGTH && written.at(-1) !== EOS) {
    const last = written.length - 1;
    const { data } = model.decode(ids([padded(written)]), memory, src, undefined, last);
    each(data);
    yield;
    written.push(first[last] ?? data.reduce((best, x, i) => (x > data[best] ? i : best), 0));
  }
  return written;
}

/** Do all steps of something at once, and give what comes of them. */
export function outcome(steps) {
  for (;;) {
    const { value, done } = steps.next();
    if (done) return value;
  }
}

/** Write a whole translation: a row of ids. */
export const greedy = (model, source) => outcome(wordByWord(model, source));

/** Run a model on a pair of sentences: the ids, and the value of each step. */
export function run(model, src, tgt) {
  const values = new Map();
  model.forward(src, tgt, (path, value) => values.set(path, value));
  return { model, values, ids: { src_embedding: src, tgt_embedding: tgt } };
}

function padded(row) {
  return [...row, ...Array(LENGTH - row.length).fill(PAD)];
}
