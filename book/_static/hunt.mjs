/* A bug that is planted and not named, for the reader to find: at random, or that of
 * a day, which is the same for everybody. */
import {
  FOUND, HINT, MISSED, SHOWN, dateOf, dayNumber, longDate, record, score, turn,
} from "./days.mjs";
import { firstDifference, sideOf } from "./steps.mjs";
import { nameOf } from "./inside.mjs";
import { keep, recalled } from "./memory.mjs";
import { written } from "./sums.mjs";

const UNKNOWN = "unknown";
const KEPT = "bugs of days"; // what the browser keeps them under
const today = () => dateOf(Date.now());
const about = (property) => document.querySelector(`meta[property="og:${property}"]`)?.content;

/** Hides one of the `bugs` and judges guesses. `runWith(name)` runs the sentence
 * that is shown with a bug; `changed` is called when the hunt begins or ends. */
export class Hunt {
  constructor(parts, bugs, { runWith, changed }) {
    Object.assign(this, { parts, bugs, runWith, changed, bug: "" });
    const press = (name, f) => parts[name].addEventListener("click", f);
    press("hunt", () => this.begin());
    press("daily", () => this.beginDay());
    press("copy", () => this.copy());
    press("guess", () => this.judge(parts.suspect.value));
    press("hint", () => this.help());
    press("reveal", () => this.end(SHOWN, `This was it. ${this.about(this.bug)}`));
    parts.bug.addEventListener("change", () => this.leave());
    parts.hunting.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Plant the bug that a number stands for. */
  begin(code = Math.floor(10_000 * Math.random()), day = "") {
    const { bug, suspect } = this.parts;
    this.leave();
    Object.assign(this, { code, day, tries: [], hints: 0 });
    this.parts.hint.disabled = false;
    this.bug = this.named(code);
    suspect.replaceChildren(...[...bug.children].map((child) => child.cloneNode(true)));
    suspect.options[0].text = "choose a suspect";
    suspect.value = "";
    bug.append(new Option("a bug, unknown", UNKNOWN));
    bug.value = UNKNOWN;
    this.show(true);
    const which = day ? `The bug of ${longDate(day)}` : "A bug";
    this.say(`${which} is planted. Every shape is as it was. What does it do?`);
    this.changed();
  }

  /** Plant the bug of a day; one that the reader has had is shown. */
  beginDay(day = today()) {
    const number = dayNumber(day);
    if (!(number <= dayNumber(today()))) {
      return this.say(`There is no bug of “${day}”: give a day that has come, such as ${today()}.`);
    }
    this.begin(number, day);
    const signs = record(recalled(KEPT))[day];
    if (signs) this.end("", `You have had the bug of ${longDate(day)}. This was it.`, [signs]);
  }

  named(code) {
    return this.bugs[turn(code, this.bugs.length)].name;
  }

  /** Say whether a bug is the one; if not, where that can be seen. */
  judge(suspect) {
    if (!suspect) return this.say("Choose a suspect first.");
    if (suspect === this.bug) {
      const missed = this.tries.filter((one) => one === MISSED).length;
      const tries = missed ? `, at guess ${missed + 1}` : "";
      return this.end(FOUND, `Right${tries}! ${this.about(suspect)}`);
    }
    this.tries.push(MISSED);
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
    this.tries.push(HINT);
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

  /** End the hunt, and show the bug; of that of a day, how it was found. */
  end(sign, verdict, tries = [...this.tries, sign]) {
    const { bug, hunt, copy } = this.parts;
    const [found, day] = [this.bug, this.day];
    this.leave();
    bug.value = found;
    this.say(verdict);
    if (day) this.tell(day, tries.join(""));
    if (sign) (day ? copy : hunt).focus();
    this.changed();
  }

  /** Keep how today's bug was found, and write the line to share. */
  tell(day, signs) {
    const kept = record(recalled(KEPT));
    if (day === today() && !kept[day]) {
      kept[day] = signs;
      keep(KEPT, JSON.stringify(kept));
    }
    const where = about("url") ?? location.href.replace(/#.*/, "");
    const link = where.startsWith("http") ? `${where}#day=${day}` : "";
    const { score: said, line, shared } = this.parts;
    shared.hidden = false;
    said.textContent = `Bugs of the day: ${score(kept, today())}.`;
    line.value = `${about("site_name")}, the bug of ${longDate(day)}: ${signs} ${link}`.trim();
  }

  /** Copy the line to share; where a page may not, let the reader do it. */
  async copy() {
    const { line, copied } = this.parts;
    try {
      await navigator.clipboard.writeText(line.value);
      copied.textContent = "Copied.";
    } catch {
      line.select();
      copied.textContent = "This browser lets no page copy. The line is selected: copy it.";
    }
  }

  /** Forget the hunt, as when the reader plants another bug. */
  leave() {
    Object.assign(this, { bug: "", day: "" });
    this.parts.shared.hidden = true;
    this.parts.copied.textContent = "";
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
