/* The reader's file, to change and to run: what it prints and translates, what it
 * attends to, and how many of the test sentences are right. */
import { element, inItem, partsOf } from "./elements.mjs";
import { Attending } from "./attending.mjs";
import { follow, wishes } from "./address.mjs";
import { Engine } from "./client.mjs";
import { Editor, asEdit, edited } from "./editor.mjs";
import { heatmap } from "./heatmaps.mjs";
import { keep, recalled } from "./memory.mjs";

const [KEPT, ASIDE] = ["my_transformer.py", "my_transformer.py, before"];
const LONGEST = 300; // letters of an error
const LONG = 2000; // letters of an address
const INNER = /^ *File "(?!my_transformer).*\n/gm; // lines of a trace that are not the reader's
const WAIT = 250; // milliseconds without a key before a sentence is translated

const panel = document.querySelector("#workbench");
const page = partsOf("#workbench");
const engine = new Engine();
const attending = new Attending(page, translator, (typed) => write(
  typed.join(" ").replace(/ ([.,?!])/g, "$1") + page.sentence.value.replace(/^[^|]*/, "")));
const editor = new Editor(page.editor, myTransformer, { label: KEPT, run, changed });
const ofBook = new Map(); // what the book's file gave, by job

let own = true; // whether the text goes on from what is kept
let ran = ""; // the text that was run
let change = null; // what it has in place of the book's, if that is short
let broke = ""; // where it broke off when it ran, if it did
let counted = ""; // how many sentences it has right
let asked = 0; // how many jobs are under way
let typing = 0;

/** Let the engine do a job; the book's file does it once. */
async function ask(job, hear) {
  const key = job.text === myTransformer && job.do !== "run" && `${job.do} ${job.sentence}`;
  if (ofBook.has(key)) return ofBook.get(key);
  busy(1);
  const found = await engine.ask(job, hear);
  busy(-1);
  if (key && !found.stopped) ofBook.set(key, found);
  return found;
}

function busy(more) {
  asked += more;
  page.results.ariaBusy = asked ? true : null;
  page.stop.disabled = !asked;
}

/** Let the text that was run do a job, and the book's file, too: what both give; null if
 * it is stopped or fails, which is shown. */
async function both(job) {
  const found = await ask(job);
  if (job.text !== ran) return null;
  if (found.error) fail(found.error, job);
  if (found.error || found.stopped) return null;
  const book = await ask({ ...job, text: myTransformer });
  return job.text === ran && !book.stopped ? { found, book } : null;
}

function fail({ message, line, trace }, job) {
  const when = job.do === "count" ? "With all test sentences at once: " : "";
  page.says.textContent = when + inWords({ message, line });
  page.calls.textContent = trace.replace(INNER, "");
  page.trace.hidden = !line;
  editor.mark(line);
  if (when) return;
  page.picture.hidden = true;
  for (const part of ["result", "instead", "warning"]) page[part].textContent = "";
}

/** Say in which line there is an error; of `sys.exit` the file's own words. */
function inWords({ message, line }) {
  const where = line ? `Line ${line}: ` : "";
  const most = message.length > LONGEST ? message.slice(0, LONGEST).replace(/\S*$/, "…") : message;
  return message.match(/(?<=^SystemExit: ).*/)?.[0] ?? where + most;
}

/** Run the file, and then translate and count with it. */
async function run() {
  if (asked) engine.stop();
  const text = ran = editor.text;
  broke = counted = "";
  page.says.textContent = "Running …";
  page.printed.textContent = "";
  page.trace.hidden = true;
  editor.mark();
  change = text === myTransformer ? null : asEdit(myTransformer, text);
  remember();
  const { error, stopped } = await ask({ do: "run", text, args: [] }, ({ printed }) => {
    if (text === ran) page.printed.append(`${printed}\n`);
  });
  if (text !== ran || stopped) return;
  if (error) {
    broke = `Its own run ended early. ${inWords(error)}`;
    page.printed.append(error.trace.replace(INNER, ""));
    editor.mark(error.line);
  }
  await translate();
}

/** Translate the sentence by the text that was run, and count, if that is to be done. */
async function translate() {
  const sentence = page.sentence.value;
  const came = await both({ do: "translate", text: ran, sentence });
  if (!came || sentence !== page.sentence.value) return;
  show(came.found, came.book);
  if (!counted) await count(ran);
}

async function count(text) {
  counted = page.says.textContent = "Translating the test sentences …";
  const came = await both({ do: "count", text });
  if (text !== ran) return;
  if (came) {
    const { found: { right, of }, book } = came;
    const before = text === myTransformer ? "" : `; book’s file: ${book.right}`;
    page.says.textContent = `${right} of ${of} test sentences are right${before}.`;
  }
  counted = page.says.textContent;
}

/** Show a translation, and what the book's file writes instead of it. */
function show(found, book) {
  const { printed, translation, read, written, attentions } = found;
  page.says.textContent = counted;
  page.trace.hidden = true;
  page.picture.hidden = false;
  page.result.textContent = translation;
  page.instead.textContent = book.error || book.translation === translation ? ""
    : `The book’s file writes: ${book.translation}`;
  page.warning.textContent = [...printed.slice(0, 2), broke].join(" ");
  page.cell.textContent = "";
  const layers = attentions.map(({ path, weights }) =>
    ({ path, weights: Array.isArray(weights[0][0]) ? weights : [weights] }));
  attending.show({ ...found, attentions: layers }, book.written ?? written);
  const say = (text) => { page.cell.textContent = text; };
  page.maps.replaceChildren(...layers.map(({ path, weights }) => {
    const encoder = path.startsWith("encoder");
    const words = encoder || path.includes("cross") ? read : ["[SOS]", ...written];
    const columns = weights[0][0].map((_, s) => words[s] ?? "[PAD]");
    return heatmap({ path, weights, rows: encoder ? read : written, columns }, say);
  }));
}

/** Keep what the reader has typed; what was kept before goes aside if this is a change of
 * another text. */
function changed() {
  if (editor.text !== myTransformer) {
    if (!own && recalled(KEPT)) keep(ASIDE, recalled(KEPT));
    keep(KEPT, editor.text);
    own = true;
  }
  if (change) remember(change = null); // the address is not to bring it back
  tell();
}

/** List the changed lines, and offer the other file. */
function tell() {
  page.changes.replaceChildren(...editor.changes.map(({ line, old, now }) => {
    const button = Object.assign(element("button", `line ${line}`), { type: "button" });
    button.addEventListener("click", () => editor.goTo(line, 2));
    return inItem(button, element("del", old.join("\n")), element("ins", now.join("\n")));
  }));
  const other = editor.text !== myTransformer;
  page.back.textContent = other ? "Back to the book’s file" : "Back to my changes";
  page.back.disabled = !other && !recalled(KEPT);
}

/** Let the address say what is seen, a change only if it is short. */
function remember() {
  const s = page.sentence.value;
  const state = new URLSearchParams(s === page.sentence.defaultValue ? {} : { s });
  const longer = new URLSearchParams([...state, ...Object.entries(change ?? {})]);
  history.replaceState(null, "", `#${`${longer}`.length < LONG ? longer : state}`);
}

/** Show what an address asks for: a sentence, and the book's file with one piece changed;
 * if it names none, the file as the reader left it. */
function takeUp({ s = page.sentence.value, old, now = "" }) {
  const text = old ? edited(myTransformer, old, now) : recalled(KEPT) || myTransformer;
  own = !old;
  page.sentence.value = s;
  take(text ?? myTransformer);
  if (text === null) page.changes.append(inItem(`This is not in the file, or more than once: ${old}`));
}

/** Translate another sentence. */
function write(sentence) {
  page.sentence.value = sentence;
  remember();
  translate();
}

/** Run another text. */
function take(text) {
  editor.text = text;
  tell();
  if (editor.changes.length) editor.goTo(editor.changes[0].line, 8);
  run();
}

/** List the chapters that the file is made of, and let the list say where one is. */
function listChapters() {
  const chapters = () => editor.text.split("\n").map((line) => line.match(/# (chapter \d+)$/)?.[1]);
  const names = chapters().filter(Boolean);
  page.chapters.append(...names.map((name) => new Option(name)));
  page.chapters.addEventListener("change", () =>
    editor.goTo(1 + chapters().indexOf(page.chapters.value)));
  editor.area.addEventListener("scroll", () => {
    page.chapters.value = chapters().slice(0, editor.view.top).findLast(Boolean) ?? names[0];
  });
}

page.run.addEventListener("click", run);
page.stop.addEventListener("click", () => {
  engine.stop();
  page.says.textContent = "Stopped.";
  page.run.focus();
});
page.back.addEventListener("click", () => {
  if (editor.text !== myTransformer) return take(myTransformer);
  const [mine, aside] = [recalled(KEPT), recalled(ASIDE)];
  if (aside) { // one after the other
    keep(KEPT, aside);
    keep(ASIDE, mine);
  }
  own = true;
  take(aside || mine);
});
page.download.addEventListener("click", () => {
  page.download.href = `data:text/x-python;charset=utf-8,${encodeURIComponent(editor.text)}`;
});
page.sentence.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(write, WAIT, page.sentence.value);
});
page.another.addEventListener("click", () =>
  write(translator.tests[Math.floor(Math.random() * translator.tests.length)]));
for (const button of document.querySelectorAll("button[data-edit]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const { old, now = "" } = wishes(`#${button.dataset.edit}`);
    take(edited(editor.text, old, now) ?? editor.text);
    changed();
    panel.scrollIntoView();
  });
}
listChapters();
panel.classList.remove("waiting");
follow(takeUp);
