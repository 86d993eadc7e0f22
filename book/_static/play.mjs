/* The translator at work, on the page: type a sentence, see what it attends to,
 * plant a bug, look at every number. */
import { bugs } from "./bugs.mjs";
import { ids } from "./tensor.mjs";
import { EOS, LENGTH, firstWords, run, words } from "./translate.mjs";
import { element, partsOf } from "./elements.mjs";
import { following, isSentence, turnRound } from "./sentences.mjs";
import {
  english, joined, named, nepali, rest, slowly, translate, translation,
} from "./translator.mjs";
import { follow } from "./address.mjs";
import { Attending } from "./attending.mjs";
import { Findings, buggy } from "./findings.mjs";
import { Hunt } from "./hunt.mjs";
import { Inside } from "./inside.mjs";
import { Lamps } from "./lamps.mjs";

const PANELS = ":is(#play, #bugs, #inside)";
const page = partsOf(PANELS);
const inside = new Inside(page, remember);
const hunt = new Hunt(page, translator.bugs, { runWith, changed: show });
const lamps = new Lamps(page);
const findings = new Findings(script, tell);
const attending = new Attending(page, translator, (typed) =>
  write(joined([...typed, ...firstWords(page.sentence.value)])));

/** Run the sentence that is shown, and the words written of it, with a bug. */
function runWith(bug) {
  return run(buggy(bug), ids([shown.source]), ids([shown.target]));
}

const filled = (read) => [...read, ...Array(LENGTH - read.length).fill("[PAD]")];
const meaning = (written) => written.map((id) => translator.glosses[named(id)])
  .filter(Boolean).join(" · ");
const sentence = (written) => joined(written.filter((id) => id !== EOS).map(named));

let shown = null; // what stands on the page
let wanted = false; // whether anybody has asked what the checks find
let begun = false; // from then on the address says what is seen

/** Put a sentence in place of the one that stands there. */
function write(text) {
  page.sentence.value = text;
  show();
}

/** Show a sentence and all that follows from it; of one that does not fit, say so,
 * and show the one before. */
function show() {
  const bug = hunt.bug || page.bug.value;
  const asked = words(page.sentence.value);
  const fits = asked.length && asked.length <= LENGTH - 2;
  const text = fits ? page.sentence.value : shown?.text ?? page.sentence.defaultValue;
  const typed = words(text);
  const unknown = [...new Set([
    ...typed.filter((word) => !english.has(word)),
    ...firstWords(text).filter((word) => !nepali.has(word)),
  ])];
  complete(asked, page.sentence.value);
  page.swap.disabled = !turnRound(translator.grammar, asked);
  page.error.textContent = fits ? doubt(typed, unknown)
    : (asked.length ? `That is ${asked.length} words and marks; the model reads ${LENGTH - 2}.`
      : "Type a sentence, such as: this is not my book.") + ` Below stands: ${text}`;
  shown = { ...translate(buggy(bug), text), read: ["[SOS]", ...typed, "[EOS]"] };
  attending.show({ ...shown, typed, unknown });
  page.result.textContent = sentence(shown.written);
  diff(hunt.bug ? "" : bug);
  lookInside(bug);
  wanted ||= Boolean(bug);
  if (wanted) findings.ask(bug);
  remember();
}

/** Say why a sentence may be translated wrong. */
function doubt(typed, unknown) {
  if (unknown.length) {
    return `It does not know ${unknown.join(", ")}, and reads [UNK] instead: `
      + "expect a fluent sentence that is wrong.";
  }
  return isSentence(translator.grammar, typed) ? ""
    : "Its grammar makes no such sentence: what it writes may be wrong.";
}

/** Show the numbers of the run, beside those of the same words without the
 * bug; in a hunt, nothing to compare with. */
function lookInside(bug) {
  const { target, read, written, steps } = shown;
  const right = bug ? runWith("") : steps;
  // A bug may leave a step out: there stands what would have been.
  const seen = { ...steps, values: new Map([...right.values, ...steps.values]) };
  const words = {
    encoder: filled(read), decoder: target.map(named), written: written.map(named),
  };
  const likeliest = [...new Set(written)].map((id) => [id, named(id)]);
  inside.show(hunt.bug || !bug ? seen : right, seen, words, likeliest);
}

/** Let the address say what is seen. */
function remember() {
  if (!begun) return;
  const [s, bug] = [page.sentence.value, page.bug.value];
  const hidden = hunt.day ? { day: hunt.day } : { hunt: hunt.code };
  const state = {
    s, ...(hunt.bug ? hidden : bug && { bug }), step: page.step.value, head: page.head.value,
  };
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
}

/** Offer what may come next, or in the place of the last word. */
function complete(typed, text) {
  const before = text.endsWith(" ") ? typed : typed.slice(0, -1);
  page.examples.replaceChildren(...following(translator.grammar, before)
    .map((word) => Object.assign(element("option"), { value: joined([...before, word]) })));
}

/** Show a bug's line, and how the translation is without it. */
function diff(bug) {
  const about = translator.bugs.find(({ name }) => name === bug);
  page.diff.hidden = !about;
  if (!about) return;
  page.right.textContent = about.right;
  page.wrong.textContent = about.wrong;
  page.says.textContent = about.says;
  const right = translate(buggy(""), shown.text).written;
  const without = sentence(right);
  const now = sentence(shown.written);
  page.compared.textContent = now === without
    ? "Every shape is as it was, and so is this translation."
    : `Every shape is as it was. It writes ${now}, and not ${without} (${meaning(right)}).`;
}

/** Tell what is known of the bug. */
function tell({ lamps: found, changed, done, all }) {
  lamps.show(found);
  page.count.textContent = all ? `${changed} of ${done} test translations change.`
    : `Counting …${done ? ` ${changed} of ${done} test translations change so far.` : ""}`;
}

/** Show what an address asks for; what it does not name is as the page has it. */
function takeUp({ s = page.sentence.defaultValue, bug = "", step = "", head = "", hunt: code, day }) {
  begun = false;
  shown = null;
  hunt.leave();
  page.sentence.value = s;
  page.bug.value = Object.hasOwn(bugs, bug) ? bug : "";
  inside.choose(step, head);
  show();
  if (/^\d{1,4}$/.test(code)) hunt.begin(Number(code));
  else if (day !== undefined) hunt.beginDay(day || undefined);
  else if (code || bug && !page.bug.value) hunt.say(`There is no bug “${code ?? bug}”.`);
  if (code ?? day) page.planting.scrollIntoView();
  begun = true;
}

/** Offer the bugs, by shelf, and make all that can be pressed do something: a little
 * at a time. */
async function begin() {
  await rest();
  for (const shelf of new Set(translator.bugs.map((bug) => bug.shelf))) {
    const group = Object.assign(document.createElement("optgroup"), { label: shelf });
    group.append(...translator.bugs.filter((bug) => bug.shelf === shelf)
      .map(({ name, says }) => Object.assign(element("option", says), { value: name })));
    page.bug.append(group);
  }
  for (const form of [page.form, page.planting, page.shared]) {
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  page.sentence.addEventListener("input", show);
  page.bug.addEventListener("change", show);
  page.another.addEventListener("click", () =>
    write(translator.tests[Math.floor(Math.random() * translator.tests.length)]));
  page.swap.addEventListener("click", () =>
    write(joined(turnRound(translator.grammar, words(page.sentence.value)).turned)));
  const first = await slowly(translation(buggy(""), page.sentence.defaultValue));
  inside.offer(first.steps);
  follow(takeUp);
  for (const panel of document.querySelectorAll(PANELS)) {
    await rest();
    panel.classList.remove("waiting");
  }
  inside.draw();
  new IntersectionObserver((seen) => {
    wanted ||= seen.some(({ isIntersecting }) => isIntersecting);
    if (wanted) findings.ask(hunt.bug || page.bug.value);
  }).observe(page.checks);
}

begin();
