/* The translator at work, on the page: type a sentence, see what it attends to,
 * plant a bug, look at every number. What it computes with are the modules of
 * tformer_lite/explorer; `translator` has its numbers, words and bugs. */
import { parameters } from "./parameters.mjs";
import { Translator } from "./model.mjs";
import { bugs } from "./bugs.mjs";
import { ids } from "./tensor.mjs";
import { run } from "./steps.mjs";
import { EOS, LENGTH, PAD, greedy, row, words } from "./translate.mjs";
import { element } from "./grid.mjs";
import { following, isSentence, swapRoles } from "./sentences.mjs";
import { Alignment } from "./alignment.mjs";
import { Hunt } from "./hunt.mjs";
import { Inside } from "./inside.mjs";
import { Lamps } from "./lamps.mjs";

const [english, nepali] = translator.words.map((known) => new Map(Object.entries(known)));
const wordOf = new Map([...nepali].map(([word, id]) => [id, word]));
const named = (id) => wordOf.get(id) ?? `[${id}]`;
const numbers = parameters(translator.shapes, translator.numbers);
const models = new Map();
const page = Object.fromEntries(
  [...document.querySelectorAll(":is(#play, #inside) [data-part]")]
    .map((e) => [e.dataset.part, e]));
const inside = page.matrix && new Inside(page, remember);
const hunt = new Hunt(page, translator.bugs, { runWith, changed: show });
const lamps = new Lamps(page, later);
const joined = (typed) => typed.join(" ").replace(/ ([.,?!])/g, "$1");
const alignment = new Alignment(page, translator, {
  named, changed: (typed) => write(joined(typed)),
});

/** Give the translator with a bug, or without one. */
function modelWith(bug) {
  if (!models.has(bug)) models.set(bug, new Translator(numbers, translator, bugs[bug]));
  return models.get(bug);
}

/** Translate a sentence: the ids, for each word written the chance of every
 * word, what the decoder has read in the end, and all steps of that run. */
function translate(text, bug) {
  const model = modelWith(bug);
  const source = row(text, english);
  const chances = [];
  const written = greedy(model, source, (logits) => chances.push(shares([...logits])));
  const target = [...written.slice(0, -1), ...Array(LENGTH).fill(PAD)].slice(0, LENGTH);
  const steps = run(model, ids([source]), ids([target]));
  const weights = steps.values.get("decoder.blocks.0.cross_attention:weights");
  return { source, target, written: written.slice(1), chances, weights, steps };
}

/** Run the sentence that is shown, and the words written of it, with a bug. */
function runWith(bug) {
  return run(modelWith(bug), ids([shown.source]), ids([shown.target]));
}

function shares(logits) {
  const top = Math.max(...logits);
  const exps = logits.map((x) => Math.exp(x - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((x) => x / sum);
}

const filled = (read) => [...read, ...Array(LENGTH - read.length).fill("[PAD]")];
const meaning = (written) => written.map((id) => translator.glosses[named(id)])
  .filter(Boolean).join(" · ");
const sentence = (written) => joined(written.filter((id) => id !== EOS).map(named));

let shown = null; // what stands on the page
let frame = 0; // the one in which the rest will follow
let begun = false; // from then on the address says what is seen

/** Put a sentence in place of the one that stands there. */
function write(text) {
  page.sentence.value = text;
  show();
}

/** Show a sentence and its translation. */
function show() {
  const [text, bug] = [page.sentence.value, hunt.bug || page.bug.value];
  const typed = words(text);
  complete(typed, text);
  page.swap.disabled = !swapRoles(translator.grammar, typed);
  page.error.textContent = "";
  if (!typed.length || typed.length > LENGTH - 2) {
    page.error.textContent = typed.length
      ? `That is ${typed.length} words and marks; the model reads ${LENGTH - 2}. `
        + "Below stands the sentence before."
      : "Type a sentence, such as: this is not my book.";
    return;
  }
  const unknown = [...new Set(typed.filter((word) => !english.has(word)))];
  if (unknown.length) {
    page.error.textContent = `It does not know ${unknown.join(", ")}, and reads [UNK] instead: `
      + "expect a fluent sentence that is wrong.";
  } else if (!isSentence(translator.grammar, typed)) {
    page.error.textContent = "Its grammar makes no such sentence: what it writes may be wrong.";
  }
  shown = { ...translate(text, bug), read: ["[SOS]", ...typed, "[EOS]"] };
  alignment.show({ ...shown, typed, unknown });
  page.result.textContent = sentence(shown.written);
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => setTimeout(() => showMore(text, bug)));
}

/** Show what stands below, when the translation is there to be seen. */
function showMore(text, bug) {
  diff(hunt.bug ? "" : bug, text);
  lookInside(bug);
  lamps.show(modelWith(bug));
  remember();
}

/** Show the numbers of the run, beside those of the same words without the
 * bug; in a hunt, nothing to compare with. */
function lookInside(bug) {
  const { target, read, written, steps } = shown;
  const right = bug ? runWith("") : steps;
  // A bug may leave a step out: there stands what would have been.
  const seen = { ...steps, values: new Map([...right.values, ...steps.values]) };
  const sides = { encoder: filled(read), decoder: target.map(named) };
  const words = [...new Set(written)].map((id) => [id, named(id)]);
  inside?.show(hunt.bug || !bug ? seen : right, seen, sides, words);
}

/** Let the address say what is seen. */
function remember() {
  if (!begun) return;
  const [s, bug] = [page.sentence.value, page.bug.value];
  const state = {
    s, ...(hunt.bug ? { hunt: hunt.code } : bug && { bug }),
    ...(inside && { step: page.step.value, head: page.head.value }),
  };
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
}

/** Offer what may come next, or in the place of the last word. */
function complete(typed, text) {
  const before = text.endsWith(" ") ? typed : typed.slice(0, -1);
  page.examples.replaceChildren(...following(translator.grammar, before)
    .map((word) => Object.assign(element("option"), { value: joined([...before, word]) })));
}

/** Show a bug's line, and count how many test translations it changes. */
function diff(bug, text) {
  const about = translator.bugs.find(({ name }) => name === bug);
  page.diff.hidden = !about;
  page.count.textContent = "";
  if (!about) return;
  page.right.textContent = about.right;
  page.wrong.textContent = about.wrong;
  page.says.textContent = about.says;
  const right = translate(text, "").written;
  const without = sentence(right);
  const now = sentence(shown.written);
  page.compared.textContent = now === without
    ? "Every shape is as it was, and so is this translation."
    : `Every shape is as it was. Without the bug it wrote ${without} (${meaning(right)}).`;
  count(bug);
}

const originals = [];

/** Count in idle moments, a few sentences at a time. */
function count(bug, done = 0, changed = 0) {
  const rest = (moment) => {
    if (bug !== page.bug.value) return;
    while (done < translator.tests.length && moment.timeRemaining() > 3) {
      const source = row(translator.tests[done], english);
      originals[done] ??= greedy(modelWith(""), source).join();
      changed += greedy(modelWith(bug), source).join() !== originals[done++];
    }
    const all = done === translator.tests.length;
    page.count.textContent = `${changed} of ${done} test translations change${all ? "." : " …"}`;
    if (!all) later(rest);
  };
  later(rest);
}

/** Call f when the page has nothing else to do. */
function later(f) {
  if (globalThis.requestIdleCallback) requestIdleCallback(f, { timeout: 500 });
  else setTimeout(() => {
    const end = performance.now() + 12;
    f({ timeRemaining: () => end - performance.now() });
  });
}

/** Offer the bugs, by shelf, and take up what the address says. */
function begin() {
  for (const shelf of new Set(translator.bugs.map((bug) => bug.shelf))) {
    const group = Object.assign(document.createElement("optgroup"), { label: shelf });
    group.append(...translator.bugs.filter((bug) => bug.shelf === shelf)
      .map(({ name, says }) => Object.assign(element("option", says), { value: name })));
    page.bug.append(group);
  }
  const state = new URLSearchParams(location.hash.slice(1));
  page.sentence.value = state.get("s") ?? page.sentence.value;
  if (state.get("bug") in bugs) page.bug.value = state.get("bug");
  page.form.addEventListener("submit", (event) => event.preventDefault());
  page.sentence.addEventListener("input", show);
  page.bug.addEventListener("change", show);
  page.another.addEventListener("click", () =>
    write(translator.tests[Math.floor(Math.random() * translator.tests.length)]));
  page.swap.addEventListener("click", () =>
    write(joined(swapRoles(translator.grammar, words(page.sentence.value)))));
  for (const panel of document.querySelectorAll("#play, #inside")) {
    panel.classList.remove("waiting");
  }
  show();
  cancelAnimationFrame(frame);
  if (shown) showMore(page.sentence.value, page.bug.value);
  inside?.go(state.get("step"), state.get("head"));
  if (/^\d{1,4}$/.test(state.get("hunt"))) hunt.begin(Number(state.get("hunt")));
  begun = true;
}

begin();
