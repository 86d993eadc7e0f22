/* A bug that is planted at random and not named, for the reader to find. */
import { firstDifference, sideOf } from "./steps.mjs";
import { nameOf } from "./inside.mjs";
import { written } from "./sums.mjs";

const UNKNOWN = "unknown";

/** Hides one of the `bugs` and judges guesses. `runWith(name)` runs the sentence
 * that is shown with a bug; `changed` is called when the hunt begins or ends. */
export class Hunt {
  constructor(parts, bugs, { runWith, changed }) {
    Object.assign(this, { parts, bugs, runWith, changed, bug: "" });
    const press = (name, f) => parts[name].addEventListener("click", f);
    press("hunt", () => this.begin());
    press("guess", () => this.judge(parts.suspect.value));
    press("hint", () => this.help());
    press("reveal", () => this.end(`This was it. ${this.about(this.bug)}`));
    parts.bug.addEventListener("change", () => this.leave());
    parts.hunting.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Plant the bug that a number stands for: 7919 is prime, so the numbers that
   * follow one another stand for all of the bugs, in disorder. */
  begin(code = Math.floor(10_000 * Math.random())) {
    const { bug, suspect } = this.parts;
    this.leave();
    Object.assign(this, { code, guesses: 0, hints: 0 });
    this.parts.hint.disabled = false;
    this.bug = this.named(code);
    suspect.replaceChildren(...[...bug.children].map((child) => child.cloneNode(true)));
    suspect.options[0].text = "choose a suspect";
    suspect.value = "";
    bug.append(new Option("a bug, unknown", UNKNOWN));
    bug.value = UNKNOWN;
    this.show(true);
    this.say("A bug is planted. Every shape is as it was. What does it do?");
    this.changed();
  }

  named(code) {
    return this.bugs[(7919 * code) % this.bugs.length].name;
  }

  /** Say whether a bug is the one; if not, where that can be seen. */
  judge(suspect) {
    if (!suspect) return this.say("Choose a suspect first.");
    this.guesses++;
    if (suspect === this.bug) {
      const tries = this.guesses > 1 ? `, at guess ${this.guesses}` : "";
      return this.end(`Right${tries}! ${this.about(suspect)}`);
    }
    const seen = this.runWith(this.bug);
    const guess = this.runWith(suspect);
    const first = firstDifference(seen, guess) ?? firstDifference(guess, seen);
    if (first) {
      const [now, then] = unlike(first, seen, guess);
      return this.say(`Not this one: with it, ${step(first)} would have ${then} `
        + `where ${now} stands.`);
    }
    return this.say("It is another bug, but this sentence cannot show it: with your suspect, "
      + "no step would have other numbers. Try another sentence.");
  }

  /** Give a hint: the lamps, the step where it begins, and five suspects. */
  help() {
    this.hints++;
    this.showChecks(true);
    if (this.hints === 1) return this.say("First hint: the lamps below.");
    if (this.hints === 3) {
      this.parts.hint.disabled = true;
      this.parts.suspect.focus();
      const five = [0, 1, 2, 3, 4].map((more) => this.named(this.code + more));
      for (const option of [...this.parts.suspect.options].slice(1)) {
        if (!five.includes(option.value)) option.remove();
      }
      return this.say("Last hint: it is one of five. The list of suspects has no others now.");
    }
    const first = firstDifference(this.runWith(""), this.runWith(this.bug));
    return this.say(first
      ? `Second hint: the first step that differs is ${step(first)}.`
      : "Second hint: in this sentence, no step has other numbers. Try another one.");
  }

  /** End the hunt, and show the bug. */
  end(verdict) {
    const { bug, hunt } = this.parts;
    const found = this.bug;
    this.leave();
    bug.value = found;
    this.say(verdict);
    hunt.focus();
    this.changed();
  }

  /** Forget the hunt, as when the reader plants another bug. */
  leave() {
    this.bug = "";
    this.parts.bug.querySelector(`[value="${UNKNOWN}"]`)?.remove();
    this.show(false);
    this.say("");
  }

  /** Show what a hunt needs, and put away what would end it. */
  show(on) {
    this.parts.hunting.hidden = !on;
    this.showChecks(!on);
    this.parts.hunt.textContent = on ? "Plant another" : "Plant one, I’ll find it";
  }

  showChecks(on) {
    for (const part of ["checks", "summary"]) this.parts[part].hidden = !on;
  }

  say(text) {
    this.parts.verdict.textContent = text;
  }

  /** Say which number a bug changes first. */
  about(name) {
    const [right, wrong] = [this.runWith(""), this.runWith(name)];
    const first = firstDifference(right, wrong);
    if (!first) return "In this sentence, no step has other numbers.";
    const [was, is] = unlike(first, right, wrong);
    return `The first number that differs is in ${step(first)}: ${is}, and not ${was}.`;
  }
}

const step = ({ path }) => `the ${sideOf(path)}’s ${nameOf(path)}`;

/** Write two runs' numbers at a place with as many digits as tell them apart. */
function unlike({ path, place }, ...runs) {
  const pair = runs.map(({ values }) => values.get(path).at(...place));
  const ways = [written, ...[2, 4, 6, 8, 10, 12].map((n) => (x) =>
    x.toPrecision(n).replace("-", "−"))];
  const way = ways.find((one) => one(pair[0]) !== one(pair[1]));
  return pair.map(way ?? String);
}
