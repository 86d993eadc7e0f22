/* The alignment on the page to play on: whoever points at a written word reads what it
 * attends to, and which words were likeliest there. */
import { element } from "./elements.mjs";
import { fitting } from "./sentences.mjs";
import { Alignment, exchangeable, inNepali } from "./alignment.mjs";

const percent = (share) => (share > 0.995 ? "over 99" : share < 0.005 ? "under 1" : Math.round(100 * share));
const inList = (pairs, glosses = {}) => pairs.map(([word, share]) => `${word}${glosses[word] ? ` “${glosses[word]}”` : ""} ${percent(share)}\u00a0%`).join(", ");

export class Attending {
  /** Draws in the parts of a `page`, with the translator's sentences and what its words
   * mean; `changed` is told the words of a new sentence. */
  constructor(page, { grammar, glosses }, changed) {
    Object.assign(this, { page, grammar, glosses, changed, alignment: new Alignment(page, 0.04), wished: 2 });
  }

  /** Show what the engine found, and which of the words are not the `right` ones. */
  show({ read, written = [], attentions = [], chances }, right) {
    const typed = read.slice(1, -1);
    const heads = attentions.findLast(({ path }) => path.includes("cross"))?.weights ?? [];
    this.share = (t, s) => heads.reduce((sum, head) => sum + (head[t]?.[s] ?? 0) / heads.length, 0);
    const words = typed.map((word, place) => exchangeable(typed, place,
      fitting(this.grammar, typed, place).filter((other) => other !== word), this.changed));
    Object.assign(this, { read, chances, written: written.filter((word) => word !== "[EOS]") });
    this.buttons = this.written.map((word, t) => this.button(word, t, word !== right[t]));
    this.alignment.show(["[SOS]", ...words, "[EOS]"], this.buttons, this.share);
    const isWord = (word, t) => t <= this.wished && word in this.glosses;
    this.look(Math.max(this.written.findLastIndex(isWord), 0));
  }

  button(word, t, wrong) {
    const button = Object.assign(element("button"), { type: "button" });
    button.toggleAttribute("data-wrong", wrong);
    button.append(inNepali(word), element("small", this.glosses[word]));
    for (const name of ["click", "pointerenter", "focus"]) {
      button.addEventListener(name, () => this.look(this.wished = t));
    }
    return button;
  }

  /** Look at the t-th word written: its ribbons, and its chances. */
  look(t) {
    this.buttons.forEach((button, i) => {
      button.ariaPressed = i === t;
      button.className = i === t ? "chosen" : "";
    });
    this.alignment.draw();
    const shares = this.read.map((word, s) => [word, this.share(t, s)]).sort(([, a], [, b]) => b - a);
    const most = shares[0][1] ? `${this.written[t]} attends most to ${inList(shares.slice(0, 2))}. ` : "";
    this.page.attends.textContent = !this.buttons.length ? ""
      : `${most}Likeliest there: ${inList(this.chances[t].slice(0, 2), this.glosses)}.`;
  }
}
