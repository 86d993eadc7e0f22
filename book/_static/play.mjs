/* The translator at work, on the page: type a sentence, see what it attends to,
 * plant a bug, look at every number. What it computes with are the modules of tformer_lite/explorer;
 * `translator` (translator.js) has its numbers, words and bugs. */
import { parameters } from "./parameters.mjs";
import { Translator } from "./model.mjs";
import { bugs } from "./bugs.mjs";
import { ids } from "./tensor.mjs";
import { run } from "./steps.mjs";
import { EOS, LENGTH, PAD, greedy, row, words } from "./translate.mjs";
import { Inside, element } from "./inside.mjs";

const [english, nepali] = translator.words.map((known) => new Map(Object.entries(known)));
const wordOf = new Map([...nepali].map(([word, id]) => [id, word]));
const numbers = parameters(translator.shapes, translator.numbers);
const models = new Map();
const page = Object.fromEntries(
  [...document.querySelectorAll(":is(#play, #inside) [data-part]")]
    .map((e) => [e.dataset.part, e]));
const inside = new Inside(page, remember);

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
  const written = greedy(model, source, (logits) => {
    const t = chances.length;
    const v = logits.shape[2];
    chances.push(shares([...logits.data.subarray(t * v, (t + 1) * v)]));
  });
  const target = [...written.slice(0, -1), ...Array(LENGTH).fill(PAD)].slice(0, LENGTH);
  const steps = run(model, ids([source]), ids([target]));
  const weights = steps.values.get("decoder.blocks.0.cross_attention:weights");
  return { source, target, written: written.slice(1), chances, weights, steps };
}

function shares(logits) {
  const top = Math.max(...logits);
  const exps = logits.map((x) => Math.exp(x - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((x) => x / sum);
}

/** Average the heads' weights from the t-th word written to the s-th read. */
function attention(weights, t, s) {
  const heads = weights.shape[1];
  return [...Array(heads).keys()].reduce((sum, h) => sum + weights.at(0, h, t, s), 0) / heads;
}

const named = (id) => wordOf.get(id) ?? `[${id}]`;
const filled = (read) => [...read, ...Array(LENGTH - read.length).fill("[PAD]")];
const sentence = (written) => written.filter((id) => id !== EOS).map(named).join(" ");
const percent = (share) => share > 0.995 ? "over 99 %"
  : share < 0.005 ? "below 1 %" : `${Math.round(100 * share)} %`;

let shown = null; // what stands on the page
let chosen = 0; // the word that is looked at

/** Show a sentence and its translation. */
function show() {
  const [text, bug] = [page.sentence.value, page.bug.value];
  const typed = words(text);
  page.error.textContent = "";
  if (!typed.length || typed.length > LENGTH - 2) {
    page.error.textContent = typed.length
      ? `That is ${typed.length} words and marks; the model reads ${LENGTH - 2}.`
      : "Type a sentence, such as: this is not my book.";
    return;
  }
  const unknown = [...new Set(typed.filter((word) => !english.has(word)))];
  if (unknown.length) {
    page.error.textContent = `It does not know ${unknown.join(", ")}, and reads [UNK] instead: `
      + "expect a fluent sentence that is wrong.";
  }
  shown = translate(text, bug);
  shown.read = ["[SOS]", ...typed.map((w) => (english.has(w) ? w : `${w} [UNK]`)), "[EOS]"];
  chosen = Math.min(chosen, shown.written.length - 1);
  draw(shown);
  diff(bug, text);
  lookInside(bug);
  remember();
}

/** Show the numbers of the run, beside those of the same words without the
 * bug. */
function lookInside(bug) {
  const { source, target, read, written, steps } = shown;
  const right = bug ? run(modelWith(""), ids([source]), ids([target])) : steps;
  const sides = { encoder: filled(read), decoder: target.map(named) };
  inside.show(right, steps, sides, [...new Set(written)].map((id) => [id, named(id)]));
}

/** Let the address say what is seen. */
function remember() {
  const [s, bug] = [page.sentence.value, page.bug.value];
  const state = { s, ...(bug && { bug }), step: page.step.value, head: page.head.value };
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
}

/** Put words, ribbons and what is said of them in place. */
function draw({ read, written }) {
  page.read.replaceChildren(...read.map((word) => element("li", word)));
  page.written.replaceChildren(...written.map((id, t) => {
    const button = element("button", named(id));
    button.type = "button";
    button.lang = id > EOS ? "ne" : "en";
    button.addEventListener("click", () => look(t));
    button.addEventListener("pointerenter", () => look(t));
    button.addEventListener("focus", () => look(t));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }));
  page.result.textContent = sentence(written);
  look(chosen);
}

/** Look at the t-th word written: its ribbons, its chances, in words. */
function look(t) {
  chosen = t;
  const { read, written, chances, weights } = shown;
  [...page.written.children].forEach((item, i) =>
    item.firstChild.setAttribute("aria-pressed", i === t));
  ribbons();
  const taken = read.map((word, s) => ({ word, share: attention(weights, t, s) }))
    .sort((a, b) => b.share - a.share);
  const two = taken.slice(0, 2).map(({ word, share }) => `${word} (${percent(share)})`);
  page.attends.textContent = `To write ${named(written[t])}, it attends most to ${two.join(" and ")}.`;
  const likely = chances[t].map((share, id) => ({ share, id }))
    .sort((a, b) => b.share - a.share).slice(0, 4);
  page.chances.replaceChildren(...likely.map(({ share, id }) => {
    const bar = element("li", `${named(id)}: ${percent(share)}`);
    bar.style.setProperty("--share", share);
    return bar;
  }));
}

/** Draw a ribbon from each word read to each word written, as wide as the
 * attention. */
function ribbons() {
  const frame = page.ribbons.getBoundingClientRect();
  const centre = (item) => {
    const box = item.getBoundingClientRect();
    return box.left + box.width / 2 - frame.left;
  };
  const [from, to] = [page.read, page.written].map((list) => [...list.children].map(centre));
  const height = frame.height;
  const paths = to.flatMap((x, t) => from.map((start, s) => {
    const share = attention(shown.weights, t, s);
    if (share < 0.04) return "";
    const bend = `M${start},0C${start},${height / 2} ${x},${height / 2} ${x},${height}`;
    return `<path d="${bend}" stroke-width="${24 * share}"${t === chosen ? ' class="chosen"' : ""}/>`;
  }));
  page.ribbons.innerHTML = paths.join("");
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
  const without = sentence(translate(text, "").written);
  const now = sentence(shown.written);
  page.compared.textContent = now === without
    ? "Every shape is as it was, and so is this translation."
    : `Every shape is as it was. Without the bug it wrote ${without}`;
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
  if (globalThis.requestIdleCallback) requestIdleCallback(f);
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
  page.examples.append(...translator.tests.map((text) =>
    Object.assign(document.createElement("option"), { value: text })));
  const state = new URLSearchParams(location.hash.slice(1));
  page.sentence.value = state.get("s") ?? page.sentence.value;
  if (state.get("bug") in bugs) page.bug.value = state.get("bug");
  page.form.addEventListener("submit", (event) => event.preventDefault());
  page.sentence.addEventListener("input", show);
  page.bug.addEventListener("change", show);
  page.another.addEventListener("click", () => {
    page.sentence.value = translator.tests[Math.floor(Math.random() * translator.tests.length)];
    show();
  });
  new ResizeObserver(() => shown && ribbons()).observe(page.ribbons);
  for (const panel of document.querySelectorAll("#play, #inside")) {
    panel.classList.remove("waiting");
  }
  show();
  inside.go(state.get("step"), state.get("head"));
}

begin();
