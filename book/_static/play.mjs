/* The translator as a stage: a sentence and its translation, a bug that is planted in
 * the reader's file, and what it does, on one screen. */
import { element, partsOf } from "./elements.mjs";
import { following, isSentence, turnRound } from "./sentences.mjs";
import { joined, split } from "./alignment.mjs";
import { follow } from "./address.mjs";
import { Engine } from "./client.mjs";
import { Attending } from "./attending.mjs";
import { firstDifference } from "./differences.mjs";
import { Hunt } from "./hunt.mjs";
import { Inside } from "./inside.mjs";
import { Wall, plainly } from "./wall.mjs";

// Behind a file: print the test sentences that it translates wrong.
const WRONG = `
model, english, nepali = load()
sources, targets, tests = read_pairs("pairs.tsv")
rows = [row for row in zip(sources, targets) if row[0] in tests]
src, tgt = [torch.cat([encode(x, ids) for x in side]) for side, ids in zip(zip(*rows), (english, nepali))]
right = (greedy(model.eval(), src) == tgt).all(-1).tolist()
print("\\n".join(tests - set(row[0] for row, good in zip(rows, right) if good)))`;

const { bugs, grammar, tests } = translator;
const page = partsOf(":is(#play, #inside)");
const panel = document.querySelector("#play");
const known = new Map(); // what the engine found, by bug and sentence
const engine = new Engine();
const wall = new Wall(page, bugs, tests.length);
const inside = new Inside(page, remember);
const attending = new Attending(page, translator, (words) => write(joined(words)));
const hunt = new Hunt(page, bugs, (name) => translated(name, stands), (name) => plant(name));

let planted = ""; // the bug that is named
let stands = page.sentence.defaultValue; // the sentence whose translation is seen
let latest = 0; // of what was asked: what comes late is not shown
let typing = 0;
let begun = false; // from then on the address says what is seen

const doubt = ({ printed, read: [, ...read] }) => {
  const fits = ["", ".", "?"].find((sign) => isSentence(grammar, [...read.slice(0, -1), sign].filter(Boolean)));
  return printed.join(" ").replace(/:$/, ".") || (fits === undefined ? "The corpus has no such sentence, so the translation may be wrong."
    : fits && `Every sentence of the corpus has a sign at its end: add “${fits}”.`);
};
const turned = ({ read }) => turnRound(grammar, read.slice(1, -1))?.turned;
const bugOf = (name) => bugs.find((bug) => bug.name === name) ?? { right: "", wrong: "" };
const fileWith = (name) => myTransformer.replaceAll(bugOf(name).right, () => bugOf(name).wrong);

const write = (text) => show(page.sentence.value = text);
const another = (sentences) => write(sentences[Math.floor(Math.random() * sentences.length)]);
const plant = (name) => show(planted = name);

/** Let the engine translate a sentence with a bug in the file, once. */
function translated(name, sentence) {
  const key = `${name} ${sentence}`;
  if (!known.has(key)) known.set(key, engine.ask({ do: "translate", text: fileWith(name), sentence }));
  return known.get(key);
}

// With the bug, and without it.
const both = (sentence) => Promise.all([hunt.bug || planted, ""].map((name) => translated(name, sentence)));

/** Show the sentence and all that follows from it; of one that does not fit, say so, and
 * show the one before. */
async function show() {
  const [mine, text] = [++latest, page.sentence.value];
  showBug();
  remember();
  page.stage.ariaBusy = true;
  let [found, right] = await both(text);
  const { error } = right;
  if (error) [found, right] = await both(stands);
  if (mine !== latest) return;
  if (!error) stands = text;
  const own = error && `${error.message.replace("SystemExit: ", "")}. Shown below: ${stands}`; // the file's words
  page.error.textContent = right.error?.message ?? own ?? doubt(right);
  if (right.error) known.clear(); // there is no engine yet
  else {
    paint(found, right);
    inside.show(found, hunt.bug ? found : right);
  }
  const tip = planted && !right.error ? await toTry(found, right) : [];
  if (mine !== latest) return;
  page.try.replaceChildren(...tip);
  page.stage.ariaBusy = null;
}

/** Show what is written, and what would be without the bug. */
function paint({ error, ...found }, right) {
  const same = found.translation === right.translation;
  attending.show({ ...found, read: right.read }, right.written);
  if (error) page.attends.textContent = error.message.slice(0, 150);
  page.result.textContent = found.translation;
  page.correct.textContent = same ? "" : right.translation;
  page.instead.textContent = !planted && !hunt.bug ? "" : `Without the bug${same ? " it writes the same." : ":"}`;
  page.swap.disabled = !turned(right);
}

/** Show the planted line, how much it breaks, and which checks notice it. */
function showBug() {
  const { says, right, wrong, still_right: count, error, checks = [] } = bugOf(planted);
  wall.show(planted, hunt.cleared);
  page.bug.hidden = page.checks.hidden = !planted;
  for (const [name, text] of Object.entries({
    says, right, wrong, number: count ?? "error", all: bugs.length, asks: hunt.bug ? "Which bug is it?" : "Plant a bug",
    chosen: plainly(planted) || "choose one", counted: count === undefined ? "" : `of ${tests.length} still right${error ? ", one by one" : ""}`,
    key: `Each is a mistake in one line of code. The number, and the green part: how many of the ${tests.length} test sentences are still right.`,
  })) page[name].textContent = text;
  page.bug.style.setProperty("--share", (count ?? 0) / tests.length);
  page.noticed.replaceChildren(...checks.length ? checks.map((name) => element("mark", plainly(name))) : ["none"]);
  page.open.hidden = myTransformer.split(right).length !== 2; // the workbench changes one place
  page.learn.href = `train.html#change=${planted}`;
  page.open.href = `workbench.html#${new URLSearchParams({ old: right, now: wrong })}`;
}

/** Give one thing to try, and what comes of it. */
async function toTry(found, right) {
  const say = (text, ...more) => [element("b", "Try: "), text, ...more];
  if (found.error) return say("open the workbench, which shows the whole error.");
  if (found.translation !== right.translation) {
    const other = turned(right) && joined(turned(right));
    if (!other) return say("exchange a word with a dashed line. Which Nepali words follow it?");
    const [now, then] = await both(other);
    const said = now.translation === found.translation ? "the same words again"
      : now.translation === then.translation ? "which is right" : "which is wrong, too";
    const words = Object.assign(element("span", now.translation), { lang: "ne" });
    return say("swap who and whom. ", element("i", other), " is written as ", words, ` (${said}).`);
  }
  if (bugOf(planted).changed) {
    const button = Object.assign(element("button", "Show one that it breaks"), { type: "button", onclick: breaks });
    return say("another sentence, because this one stays right. ", button);
  }
  const first = firstDifference(found, right);
  return [first ? `No test sentence changes, but ${first.place} is ${first.one}, not ${first.other}.`
    : "Here no word, weight or chance differs. Only a check can notice it."];
}

/** Show a test sentence that the planted bug breaks. */
async function breaks() {
  const broken = [];
  page.stage.ariaBusy = true;
  const text = fileWith(planted).split("\nif __name__")[0] + WRONG;
  await engine.ask({ do: "run", text, args: [] }, ({ printed }) => broken.push(printed));
  another(broken.length ? broken : tests);
}

/** Plant a bug, or take it out; in a hunt, guess. */
function press(name) {
  if (hunt.bug) return hunt.judge(name);
  hunt.leave();
  plant(name === planted ? "" : name);
}

/** Let the address say what is seen. */
function remember() {
  const state = { s: page.sentence.value, ...(planted && { bug: planted }), ...hunt.state, ...inside.state };
  if (begun) history.replaceState(null, "", `#${new URLSearchParams(state)}`);
}

/** Show what an address asks for; what it does not name is as the page has it. */
function takeUp({ s = page.sentence.defaultValue, bug = "", step, head, hunt: code }) {
  const first = translator.first?.[s];
  begun = false;
  hunt.leave();
  stands = page.sentence.defaultValue;
  page.sentence.value = s;
  planted = bugOf(bug).name ?? "";
  page.more.open ||= page.more.contains(wall.buttons.get(planted) ?? null);
  inside.choose(step, head);
  if (/^\d{1,4}$/.test(code)) hunt.begin(Number(code));
  else if (code || bug && !planted) hunt.say(`There is no bug “${code ?? bug}”.`);
  if (planted || hunt.bug || !first) show();
  else {
    showBug();
    paint(first, first);
    new IntersectionObserver(([{ isIntersecting }], watch) => {
      if (!isIntersecting) return;
      watch.disconnect();
      begun = false; // whoever scrolls there has not acted
      show();
      begun = true;
    }).observe(page.steps.closest("section")); // needs the engine
  }
  begun = true;
}

page.sentence.addEventListener("input", () => {
  const words = split(page.sentence.value);
  const before = page.sentence.value.endsWith(" ") ? words : words.slice(0, -1);
  page.examples.replaceChildren(...following(grammar, before)
    .map((word) => Object.assign(element("option"), { value: joined([...before, word]) })));
  clearTimeout(typing);
  typing = setTimeout(show, 200); // milliseconds without another key
});
panel.addEventListener("submit", (event) => event.preventDefault());
panel.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-bug], .wall button");
  if (button?.dataset.bug) press(button.dataset.bug);
  if (button?.closest(".idle")) wall.buttons.get(planted).focus({ preventScroll: true }); // it is gone
  if (button && page.chooser.checkVisibility()) panel.scrollIntoView(); // there stands what comes of it
});
page.list.addEventListener("click", () => page.sheet.scrollIntoView());
page.chooser.addEventListener("click", ({ target: { dataset: { by } } }) => by && press(wall.beside(planted, Number(by))));
page.another.addEventListener("click", () => another(tests));
page.swap.addEventListener("click", () => write(joined(turnRound(grammar, split(page.sentence.value)).turned)));
panel.classList.remove("waiting");
follow(takeUp);
