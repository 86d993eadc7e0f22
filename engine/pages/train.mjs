/* The reader's file learns on the page, whole or with a line changed, while one sees what
 * it makes of a sentence, and of the same with who and whom exchanged. */
import { Engine } from "./client.mjs";
import { follow } from "./address.mjs";
import { inNepali } from "./alignment.mjs";
import { drawChart } from "./chart.mjs";
import { element, partsOf } from "./elements.mjs";
import { recalled } from "./memory.mjs";
import { turnRound } from "./sentences.mjs";

const FILE = "my_transformer.py";
const MEANS = 10; // steps whose losses make a point of the curve
const LAST = 10; // points that tell the loss in the end
const [NEAR, ALIKE] = [0.01, 1.25]; // shares so near, losses so many times: as seeds differ
const PACE = 60; // milliseconds for each picture of a run that is seen again
const { glosses, grammar, left_out: parts, bugs } = translator;
const panel = document.querySelector("#train");
const page = partsOf("#train");
const engine = new Engine();
const wanted = new Map(); // what the book's trained model writes, by sentence
const wholes = {}; // the last run of the whole model from each seed

let change; // the part or the bug that the next run is to have
let run = newRun();
let chosen = Infinity; // the step that is looked at; the newest, if none
let watching = 0; // the timer of a run that is seen again
let frame = 0; // in which all will be drawn
let shown = null; // the pictures on the page

const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
const newest = (list, step) => list.findLast(([at]) => at <= step) ?? [];
const counted = (number) => number.toLocaleString("en");
const nats = (loss) => (Number.isFinite(loss) ? `${loss.toPrecision(2)} nats` : "not a number");
const say = (text) => { page.said.textContent = text; };

/** Read what is asked for, with room for what will come of it, by steps. */
function newRun() {
  const typed = page.sentence.value.toLowerCase().match(/[^\s.,?!]+|[.,?!]/g) ?? [];
  const turned = turnRound(grammar, typed)?.turned;
  page.sentence.setCustomValidity(turned ? ""
    : "Somebody must do something to somebody in it, as in: we saw ram.");
  return {
    change, name: "", sentences: turned ? [typed, turned] : [],
    seed: page.seed.valueAsNumber, steps: page.steps.valueAsNumber,
    guesses: Object.fromEntries(new FormData(page.predicted)),
    step: 0, losses: [], curve: [], rights: [], shots: [], lines: 0,
  };
}

/** Let the engine's model of the book say what is right of some sentences. */
async function learnRight(sentences) {
  for (const sentence of sentences.filter((one) => !wanted.has(one))) {
    const { written } = await engine.ask({ do: "translate", text: myTransformer, sentence });
    if (written) wanted.set(sentence, written.filter((word) => word !== "[EOS]"));
  }
}

/** Write other sentences with the model that was trained. */
async function rewrite(sentences) {
  const texts = sentences.map((words) => words.join(" "));
  await learnRight(texts);
  const { shots } = await engine.ask({ do: "write", sentences: texts });
  if (!shots || run.going) return;
  Object.assign(run, { sentences, shots: [[run.step, shots]], lines: 0, told: "" });
  page.story.replaceChildren();
  soon();
}

/** Train from nothing, and show it while it learns. */
async function train(event) {
  event.preventDefault();
  const mine = newRun();
  if (!page.form.reportValidity()) return;
  const own = (page.file.value === "mine" && recalled(FILE)) || myTransformer;
  const text = change ? own.replaceAll(change.right, () => change.wrong) : own;
  if (change && text === own) return say(`Your own ${FILE} has no such line.`);
  const same = ["seed", "steps"].every((name) => run[name] === mine[name]) && run.text === text;
  if (run.trained && same && String(run.sentences) !== String(mine.sentences)) return rewrite(mine.sentences);
  stop();
  const sentences = mine.sentences.map((words) => words.join(" "));
  run = Object.assign(mine, { going: true, text, whole: text === myTransformer });
  chosen = Infinity;
  page.story.replaceChildren();
  page.form.scrollIntoView({ block: "nearest" });
  say(`Loading Python, and ${own === myTransformer ? "" : "your own "}${FILE} …`);
  soon();
  await learnRight(sentences);
  if (!mine.going) return;
  const { seed, steps } = mine;
  const { error } = await engine.ask({ do: "train", text, seed, steps, sentences }, take);
  if (!mine.going) return;
  mine.trained = !error;
  if (mine.whole && !error) wholes[seed] = mine;
  end(error ? `${error.line ? `Line ${error.line}: ` : ""}${error.message}` : `Done. ${verdict()}`);
}

/** Take what comes while it learns. */
function take({ step, losses = [], shots, right, of }) {
  if (!run.step) say("It learns.");
  run.step = step;
  for (const loss of losses) {
    const all = run.losses.push(loss ?? NaN);
    if (all % MEANS === 0) run.curve.push([all, mean(run.losses.slice(-MEANS))]);
  }
  if (of) run.rights.push([step, right / of, right, of]);
  if (shots) run.shots.push([step, shots]);
  soon();
}

/** Look at a step; at the newest one, look on. */
function look(step) {
  clearInterval(watching);
  watching = 0;
  chosen = step < run.step ? step : Infinity;
  soon();
}

/** Stop what goes on: training, or a run that is seen again. */
function stop() {
  look(chosen);
  if (!run.going) return;
  engine.stop();
  end(`Stopped at step ${counted(run.step)}. ${verdict()}`);
}

function end(why) {
  run.going = false;
  say(why);
  soon();
}

/** Show all of a run again, from its start. */
function again() {
  look(0);
  watching = setInterval(() => {
    chosen = run.shots.find(([at]) => at > chosen)?.[0] ?? Infinity;
    if (chosen === Infinity) stop();
    soon();
  }, PACE);
}

/** Give the whole model's run to see this one against: from its seed, or the stored one. */
function wholeRun() {
  return run.whole || !run.step ? null : wholes[run.seed] ?? translator.run;
}

/** Say what came of the run, beside what was predicted. */
function verdict() {
  const { guesses, curve, step, steps, rights } = run;
  const [, share, right, of] = rights.at(-1) ?? [];
  if (!of || !curve.length) return "";
  const [count, whole] = [`${right} of ${of} test sentences are right`, wholeRun()];
  const [, best] = newest(whole?.rights ?? [], step);
  if (!(best > NEAR)) return `${count}.`; // too soon to tell
  const [loss, other] = [curve, whole.curve].map((points) =>
    mean(points.filter(([at]) => at <= step).slice(-LAST).map(([, one]) => one)));
  const learned = share < NEAR ? "nothing" : share < best - NEAR ? "less" : "as well";
  const lost = loss < other / ALIKE ? "lower" : loss < other * ALIKE ? "the same"
    : loss ? "higher" : "not a number";
  const guess = (said, came) => (said ? ` (you said ${said} ${said === came ? "✓" : "✗"})` : "");
  return `It learned ${learned}${guess(guesses.learn, learned)}: ${count}, with the whole model `
    + `${Math.round(1000 * best) / 10} %. Its loss is ${lost}${guess(guesses.loss, lost)}`
    + `${loss ? `: ${nats(loss)}` : ""}, with the whole model ${nats(other)}`
    + `${whole.steps === steps ? "" : ` on the way to step ${counted(whole.steps)}`}.`;
}

/** Draw all with the next picture of the screen, once. */
function soon() {
  frame ||= requestAnimationFrame(draw);
}

function draw() {
  frame = 0;
  const { curve, rights, shots, sentences, steps } = run;
  const [at, whole, busy] = [Math.min(chosen, run.step), wholeRun(), run.going || watching];
  drawChart(page.chart, [...(whole ? [{ ...whole, name: "whole model: " }] : []), run], steps, at);
  if (!busy && document.activeElement === page.stop) page.go.focus();
  page.stop.disabled = !busy;
  page.again.disabled = busy || !shots.length;
  Object.assign(page.time, { max: steps, value: at, disabled: !shots.length });
  page.time.setAttribute("aria-valuetext", `step ${at}`);
  const [[, loss], [, , right, of]] = [newest(curve, at), newest(rights, at)];
  page.numbers.textContent = [
    !run.whole && !run.change && run.text && "your own file",
    run.change && (parts.includes(run.change) ? `without ${run.change.name}` : "with a bug"),
    `step ${counted(at)}`, loss !== undefined && `loss ${nats(loss)}`,
    of && `${right} of ${of} sentences right`,
  ].filter(Boolean).join(" · ");
  page.story.prepend(...shots.slice(run.lines).flatMap(line).reverse());
  run.lines = shots.length;
  const [, pictures = sentences.map(() => ({ written: [] }))] = newest(shots, at);
  if (pictures === shown) return;
  shown = pictures;
  page.told.replaceChildren(...sentences.map((words, i) => translation(words, pictures[i])));
  page.looks.replaceChildren(...sentences.map((words, i) => attention(words, pictures[i])));
}

function made(tag, more, ...content) {
  const part = Object.assign(element(tag), more);
  part.append(...content);
  return part;
}

const spans = (all) => all.flatMap(([text, look]) => [made("span", { className: look }, text), " "]);
const rightOf = (words) => wanted.get(words.join(" "));
const isRight = (words, written) => rightOf(words)?.join() === written.join();
const roleOf = (word) => ({ ले: "who", लाई: "whom" }[word.match(/(ले|लाई)$/)?.[0]]);

/** Say a Nepali word in English, and who does it to whom. */
function meaning(word) {
  const plain = (glosses[word] ?? word).replace(" (object)", "").replace("।", ".");
  const role = roleOf(word);
  return !role ? plain : plain === "who" ? `${role}?` : `${plain} (${role})`;
}

/** Give of each word that was written what it says and what it is: who, whom or did, as the
 * next ending has it, or wrong, where another word belongs in its place; and the word. */
function judged(words, { written }) {
  const right = rightOf(words);
  return written.map((word, t, all) => [
    meaning(word),
    right && right[t] !== word ? "wrong" : all.slice(t).map(roleOf).find(Boolean) ?? "did",
    word,
  ]);
}

/** Show a sentence, and what is written of it. */
function translation(words, picture) {
  const [front, who, did, whom] = turnRound(grammar, words).parts.map((part) => part.join(" "));
  const [all, right] = [judged(words, picture), rightOf(words)];
  const good = all.filter(([, look]) => look !== "wrong").length;
  return made("div", {},
    made("p", {}, ...spans([[front], [who, "who"], [did], [whom, "whom"]]).slice(0, -1), words.at(-1)),
    made("ol", {}, ...all.map(([says, className, word]) =>
      made("li", { className }, inNepali(word), made("small", {}, says)))),
    made("p", {}, isRight(words, picture.written) ? "✓ right"
      : right ? `${good} of ${right.length} words in place` : ""));
}

/** Draw how much each word that is written attends to each that is read. */
function attention(words, { written, attention: weights }) {
  const read = ["[SOS]", ...words, "[EOS]"];
  return made("table", {},
    made("tr", {}, made("td"), ...read.map((word) => made("th", { scope: "col" }, word))),
    ...written.map((word, t) => made("tr", {}, made("th", { scope: "row" }, inNepali(word)),
      ...read.map((other, s) => {
        const share = weights?.[t]?.[s] ?? 0;
        const says = `${Math.round(100 * share)} %`;
        return made("td", { style: `--share: ${share}`, title: `${meaning(word)} → ${other}: ${says}` }, says);
      }))));
}

/** Give a line of the story, if it is another than before. */
function line([step, pictures]) {
  const back = made("button", { type: "button", ariaLabel: `Look at step ${step}` }, counted(step));
  const told = run.sentences.map((words, i) =>
    made("span", {}, ...spans(judged(words, pictures[i])),
      isRight(words, pictures[i].written) ? "✓" : ""));
  const text = told.map((one) => one.textContent).join("|");
  if (text === run.told) return [];
  run.told = text;
  back.addEventListener("click", () => {
    look(step);
    page.numbers.scrollIntoView({ block: "nearest" });
  });
  return [made("li", {}, back, ...told)];
}

/** Show what is asked for; before anything is trained, its sentences, too. */
function asked() {
  change = [...parts, ...bugs].find(({ name }) => name === page.change.value);
  for (const { firstChild: part } of page.parts.children) {
    part.ariaPressed = String(part.textContent === change?.name);
  }
  page.changed.hidden = !change;
  for (const part of ["says", "right", "wrong"]) page[part].textContent = change?.[part];
  const next = newRun();
  if (!run.step && !run.going) run = next;
  soon();
}

for (const [label, shelf] of Map.groupBy(bugs, (bug) => bug.shelf)) {
  page.change.append(made("optgroup", { label }, ...shelf.map(({ name, says }) => new Option(says, name))));
}
for (const { name } of parts) {
  const part = made("button", { type: "button" }, name);
  part.addEventListener("click", () => {
    page.change.value = change?.name === name ? "" : name;
    page.change.dispatchEvent(new Event("change", { bubbles: true }));
  });
  page.parts.append(made("li", {}, part));
  page.left.append(new Option(name));
}
for (const form of [page.form, page.predicted]) form.addEventListener("submit", train);
panel.addEventListener("change", ({ target }) => {
  if (target === page.change) page.predicted.reset();
  asked();
  history.replaceState(null, "", `#${new URLSearchParams(new FormData(page.form))}`);
});
page.stop.addEventListener("click", stop);
page.again.addEventListener("click", again);
page.time.addEventListener("input", () => look(page.time.valueAsNumber));
new ResizeObserver(soon).observe(page.chart);
follow((wishes) => {
  page.form.reset();
  for (const field of page.form.elements) field.value = wishes[field.name] ?? field.value;
  asked();
});
page.file.parentNode.hidden = !recalled(FILE);
panel.classList.remove("waiting");
