/* The alignment on the page of its own: point at a word that was written, and
 * read what it attends to and which words were likeliest there. */
import { element } from "./elements.mjs";
import { fitting } from "./sentences.mjs";
import { Alignment, exchangeable, inNepali } from "./alignment.mjs";
import { named } from "./translator.mjs";

const whole = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const percent = (share) => share > 0.995 ? "over 99 %"
  : share < 0.005 ? `1 in ${whole.format(1 / share)}` : `${Math.round(100 * share)}\u00a0%`;

export class Attending {
  /** Draws in the parts of a `page`, with the translator's sentences and what its
   * words mean; `changed` is told the words of a new sentence. */
  constructor(page, { grammar, glosses }, changed) {
    const alignment = new Alignment(page, 0.04);
    Object.assign(this, { page, grammar, glosses, changed, alignment, wished: 2 });
  }

  /** Show a run: the words `typed`, of which some are `unknown`, and what came
   * of them. */
  show(run) {
    const { typed, unknown, written, share } = run;
    this.run = { ...run, read: ["[SOS]", ...typed, "[EOS]"] };
    const words = typed.map((word, place) => {
      const text = unknown.includes(word) ? `${word} [UNK]` : word;
      const others = fitting(this.grammar, typed, place).filter((other) => other !== word);
      return exchangeable(typed, place, others, this.changed, text);
    });
    const isWord = (id, t) => t <= this.wished && named(id) in this.glosses;
    this.buttons = written.map((id, t) => this.button(named(id), t));
    this.alignment.show(["[SOS]", ...words, "[EOS]"], this.buttons, share);
    this.look(Math.max(written.findLastIndex(isWord), 0));
  }

  button(word, t) {
    const button = element("button");
    button.type = "button";
    button.append(inNepali(word), element("small", this.glosses[word]));
    for (const name of ["click", "pointerenter", "focus"]) {
      button.addEventListener(name, () => {
        this.wished = t;
        this.look(t);
      });
    }
    return button;
  }

  /** Look at the t-th word written: its ribbons, its chances, in words. */
  look(t) {
    const { page, run: { read, written, logits, share } } = this;
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === t);
      button.className = i === t ? "chosen" : "";
    });
    this.alignment.draw();
    const two = read.map((word, s) => ({ word, share: share(t, s) }))
      .sort((a, b) => b.share - a.share).slice(0, 2)
      .map(({ word, share: taken }) => `${word} (${percent(taken)})`);
    page.attends.textContent = `To write ${named(written[t])}, it attends most to ${two.join(" and ")}.`;
    const likely = chances(logits[t]).map((chance, id) => ({ chance, id }))
      .sort((a, b) => b.chance - a.chance).slice(0, 4);
    page.chances.replaceChildren(...likely.map(({ chance, id }) => {
      const bar = element("li", `${named(id)}: ${percent(chance)}`);
      bar.style.setProperty("--share", chance);
      return bar;
    }));
  }
}

/** Turn the logits of all words into the chance of each. */
function chances(logits) {
  const top = Math.max(...logits);
  const exps = logits.map((x) => Math.exp(x - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((x) => x / sum);
}
