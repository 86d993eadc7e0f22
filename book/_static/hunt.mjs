/* A bug that is planted and not named, for the reader to find. */
import { firstDifference } from "./differences.mjs";
import { plainly } from "./wall.mjs";

const STEP = 101; // no neighbours in the list have numbers that follow each other

/** Hides one of the `bugs` and judges guesses. `translated(name)` gives what the engine
 * finds in the sentence that is shown, with a bug; `plant` is told which is named. */
export class Hunt {
  named = (code) => this.silent[(STEP * code) % this.silent.length].name;

  // Where the hidden bug first differs from another, or from none.
  difference = (name) => Promise.all([this.bug, name].map(this.translated)).then((both) => firstDifference(...both));

  constructor(parts, bugs, translated, plant) {
    Object.assign(this, { parts, bugs, translated, plant, silent: bugs.filter((bug) => "still_right" in bug) });
    parts.hunt.addEventListener("click", () => this.begin());
    parts.hint.addEventListener("click", () => this.help());
    parts.reveal.addEventListener("click", () => this.end("This was it."));
  }

  /** Plant the bug that a number stands for. */
  begin(code = Math.floor(10_000 * Math.random())) {
    this.leave(this.named(code));
    this.parts.more.open = true;
    Object.assign(this, { hints: 0, code, state: { hunt: code } });
    this.say("A bug is planted. Try sentences. Which one is it? Press your suspect.");
    this.plant("");
  }

  /** Say whether a bug is the one; if not, where that can be seen. */
  judge(suspect) {
    if (this.cleared.has(suspect)) return;
    if (suspect === this.bug) return this.end("Right!");
    this.cleared.add(suspect);
    this.plant("");
    this.say(this.difference(suspect).then((first) => `Not ${plainly(suspect)}${first
      ? `: with it, ${first.place} would be ${first.other}, not ${first.one}.`
      : ". This sentence cannot show it: try another."}`));
  }

  /** Give a hint: the checks, the module where it begins, and five suspects. */
  help() {
    this.hints++;
    if (this.hints === 1) {
      const { checks } = this.bugs.find(({ name }) => name === this.bug);
      return this.say(`Checks that notice it: ${checks.map(plainly).join(", ") || "none"}.`);
    }
    if (this.hints === 2) {
      return this.say(this.difference("").then((first) =>
        (first ? `The first difference is in ${first.path}.` : "This sentence cannot show it: try another.")));
    }
    this.parts.hint.hidden = true;
    const five = [0, 1, 2, 3, 4].map((more) => this.named(this.code + more));
    this.cleared = new Set(this.bugs.map(({ name }) => name).filter((name) => !five.includes(name)));
    this.say("It is one of the five that are not crossed out.");
    this.plant("");
  }

  /** End the hunt, and show the bug. */
  end(verdict) {
    const { bug } = this;
    const difference = this.difference("");
    this.leave();
    this.say(difference.then((first) =>
      (first ? `${verdict} First, ${first.place} is ${first.one}, not ${first.other}.` : verdict)));
    this.parts.hunt.focus();
    this.plant(bug);
  }

  /** Leave the hunt there was, for one of a `bug` or for none. */
  leave(bug = "") {
    Object.assign(this, { bug, state: {}, cleared: new Set() });
    const { hint, reveal, hunt } = this.parts;
    hint.hidden = reveal.hidden = !bug;
    hunt.textContent = bug ? "Plant another" : "Plant one, I’ll find it";
    this.say("");
  }

  /** Say something, which may come later, unless something else is said by then. */
  async say(text) {
    this.saying = text;
    const said = await text;
    if (this.saying === text) this.parts.verdict.textContent = said;
  }
}
