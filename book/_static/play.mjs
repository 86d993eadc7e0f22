/* The translator at work, on the page: type a sentence, see what it attends to,
 * plant a bug, look at every number. */
import { bugs } from "./bugs.mjs";
import { ids } from "./tensor.mjs";
import { EOS, LENGTH, greedy, row, run, words } from "./translate.mjs";
import { element, partsOf } from "./elements.mjs";
import { following, isSentence, turnRound } from "./sentences.mjs";
import { english, joined, modelWith, named, translate } from "./translator.mjs";
import { Attending } from "./attending.mjs";
import { Hunt } from "./hunt.mjs";
import { Inside } from "./inside.mjs";
import { Lamps } from "./lamps.mjs";

const PANELS = ":is(#play, #bugs, #inside)";
const models = new Map();
const page = partsOf(PANELS);
const inside = new Inside(page, remember);
const hunt = new Hunt(page, translator.bugs, { runWith, changed: show });
const lamps = new Lamps(page, later);
const attending = new Attending(page, translator, (typed) => write(joined(typed)));

/** Give the translator with a bug, or without one. */
function buggy(bug) {
  if (!models.has(bug)) models.set(bug, modelWith(bugs[bug]));
  return models.get(bug);
}

/** Run the sentence that is shown, and the words written of it, with a bug. */
function runWith(bug) {
  return run(buggy(bug), ids([shown.source]), ids([shown.target]));
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
  page.swap.disabled = !turnRound(translator.grammar, typed);
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
  shown = { ...translate(buggy(bug), text), read: ["[SOS]", ...typed, "[EOS]"] };
  attending.show({ ...shown, typed, unknown });
  page.result.textContent = sentence(shown.written);
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => setTimeout(() => showMore(text, bug)));
}

/** Show what stands below, when the translation is there to be seen. */
function showMore(text, bug) {
  diff(hunt.bug ? "" : bug, text);
  lookInside(bug);
  lamps.show(buggy(bug));
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
  inside.show(hunt.bug || !bug ? seen : right, seen, sides, words);
}

/** Let the address say what is seen. */
function remember() {
  if (!begun) return;
  const [s, bug] = [page.sentence.value, page.bug.value];
  const state = {
    s, ...(hunt.bug ? { hunt: hunt.code } : bug && { bug }),
    step: page.step.value, head: page.head.value,
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
  const right = translate(buggy(""), text).written;
  const without = sentence(right);
  const now = sentence(shown.written);
  page.compared.textContent = now === without
    ? "Every shape is as it was, and so is this translation."
    : `Every shape is as it was. It writes ${now}, and not ${without} (${meaning(right)}).`;
  count(bug);
}

const originals = [];

/** Count in idle moments, a few sentences at a time. */
function count(bug, done = 0, changed = 0) {
  const rest = (moment) => {
    if (bug !== page.bug.value) return;
    while (done < translator.tests.length && moment.timeRemaining() > 3) {
      const source = row(translator.tests[done], english);
      originals[done] ??= greedy(buggy(""), source).join();
      changed += greedy(buggy(bug), source).join() !== originals[done++];
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
  for (const form of [page.form, page.planting]) {
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  page.sentence.addEventListener("input", show);
  page.bug.addEventListener("change", show);
  page.another.addEventListener("click", () =>
    write(translator.tests[Math.floor(Math.random() * translator.tests.length)]));
  page.swap.addEventListener("click", () =>
    write(joined(turnRound(translator.grammar, words(page.sentence.value)).turned)));
  for (const panel of document.querySelectorAll(PANELS)) {
    panel.classList.remove("waiting");
  }
  show();
  cancelAnimationFrame(frame);
  if (shown) showMore(page.sentence.value, page.bug.value);
  inside.go(state.get("step"), state.get("head"));
  if (/^\d{1,4}$/.test(state.get("hunt"))) hunt.begin(Number(state.get("hunt")));
  begun = true;
}

begin();
