/* What is found out about a bug, bit by bit: which checks notice it, and how many
 * of the test translations it changes. A worker does that, so that the page stays
 * quick; where there is none, the page does it while it rests. */
import { bugs } from "./bugs.mjs";
import { checks, sentences } from "./checks.mjs";
import { greedy, row } from "./translate.mjs";
import { english, modelWith } from "./translator.mjs";

const PART = 36; // translations between two words about how many have changed
const SPELL = globalThis.document ? 8 : 40; // milliseconds between two rests
const models = new Map();
const originals = [];
let steps = null; // what is being found out

/** Give the translator with a bug, or without one. */
export function buggy(bug) {
  if (!models.has(bug)) models.set(bug, modelWith(bugs[bug]));
  return models.get(bug);
}

/** Put all checks to a bug, and translate all tests with it; of no bug, none. */
function* findingsOf(bug) {
  const lamps = {};
  for (const [name, { notice }] of Object.entries(checks)) {
    lamps[name] = notice(buggy(bug), sentences);
    yield;
  }
  yield { lamps };
  const { length } = bug && translator.tests;
  for (let [done, changed] = [0, 0]; done < length; ) {
    const source = row(translator.tests[done], english);
    originals[done] ??= greedy(buggy(""), source).join();
    changed += greedy(buggy(bug), source).join() !== originals[done++];
    yield done % PART && done < length ? null : { changed, done, all: done === length };
  }
}

const later = globalThis.requestIdleCallback ?? setTimeout;

/** Find out about a bug, and `tell`; what was begun before is left. */
function work(bug, tell) {
  const mine = steps = findingsOf(bug);
  later(function go() {
    const end = performance.now() + SPELL;
    while (steps === mine && performance.now() < end) {
      const { value, done } = mine.next();
      if (done) return;
      if (value) tell({ bug, ...value });
    }
    if (steps === mine) later(go);
  });
}

if (!globalThis.document) globalThis.onmessage = ({ data }) => work(data, postMessage);

/** Finds out about one bug after another. `script` is the function that this is a
 * part of: a worker runs it again. `told` is told what is known of the bug that was
 * asked about last, and of no other: which checks notice it, by name, as `lamps`,
 * and how many translations are `changed` of those that are `done`. */
export class Findings {
  constructor(script, told) {
    Object.assign(this, { script, told, known: new Map() });
  }

  ask(bug) {
    if (bug === this.bug) return;
    this.bug = bug;
    const known = this.known.get(bug) ?? {};
    this.told(known);
    this.worker ??= this.begin();
    if (!known.all) this.worker.postMessage(bug);
  }

  /** Begin a worker, or, where none may be, do its work here. */
  begin() {
    const tell = (found) => this.hear(found);
    const here = { postMessage: (bug) => work(bug, tell) };
    try {
      const text = new Blob([`(${this.script})()`], { type: "text/javascript" });
      const worker = new Worker(URL.createObjectURL(text));
      worker.onmessage = ({ data }) => tell(data);
      worker.onerror = () => {
        this.worker = here;
        here.postMessage(this.bug);
      };
      return worker;
    } catch {
      return here;
    }
  }

  hear({ bug, ...found }) {
    this.known.set(bug, { ...this.known.get(bug), ...found });
    if (bug === this.bug) this.told(this.known.get(bug));
  }
}
