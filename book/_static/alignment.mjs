/* The words read and the words written, with a ribbon from each to each, as wide
 * as the attention. A word that was read can be exchanged for one that fits. */
import { element } from "./grid.mjs";
import { fitting } from "./sentences.mjs";
import { EOS } from "./translate.mjs";
import { inItem } from "./lamps.mjs";

const whole = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const percent = (share) => share > 0.995 ? "over 99 %"
  : share < 0.005 ? `1 in ${whole.format(1 / share)}` : `${Math.round(100 * share)}\u00a0%`;

export class Alignment {
  /** Draws in the parts of a `page`, with the translator's sentences and what its
   * words mean; `named` gives the word of an id, and
   * `changed` is told the words of a new sentence. */
  constructor(page, { grammar, glosses }, { named, changed }) {
    Object.assign(this, { page, grammar, glosses, named, changed, chosen: 2 });
    new ResizeObserver(() => this.run && this.ribbons()).observe(page.ribbons);
  }

  /** Show a run: the words `typed`, of which some are `unknown`, the ids
   * `written`, for each the `chances` of all words, and the `weights`. */
  show(run) {
    const place = [...this.page.read.children].findIndex((item) =>
      item.contains(document.activeElement));
    this.run = run;
    this.chosen = Math.min(this.chosen, run.written.length - 1);
    const words = run.typed.map((_, i) => this.word(i));
    this.page.read.replaceChildren(...["[SOS]", ...words, "[EOS]"].map((word) => inItem(word)));
    this.page.written.replaceChildren(...run.written.map((id, t) => inItem(this.button(id, t))));
    this.look(this.chosen);
    this.page.read.children[place]?.querySelector("select")?.focus();
  }

  /** A word that was read, as a list of those that would fit in its place. */
  word(place) {
    const { typed, unknown } = this.run;
    const word = typed[place];
    const text = unknown.includes(word) ? `${word} [UNK]` : word;
    const others = fitting(this.grammar, typed, place).filter((other) => other !== word);
    if (!others.length) return text;
    const list = element("select");
    list.setAttribute("aria-label", `Word ${place + 1}, ${text}: exchange it`);
    list.append(new Option(text, word), ...others.map((other) => new Option(other)));
    list.style.setProperty("--letters", text.length);
    list.addEventListener("change", () => this.changed(typed.with(place, list.value)));
    return list;
  }

  button(id, t) {
    const [button, gloss] = [element("button"), element("small", this.glosses[this.named(id)])];
    const word = element("span", this.named(id));
    word.lang = id > EOS ? "ne" : "en";
    word.innerHTML = word.innerHTML.replace(/ले$/, "<u>$&</u>").replace(/लाई$/, "<b>$&</b>");
    button.type = "button";
    button.append(word, gloss);
    for (const name of ["click", "pointerenter", "focus"]) {
      button.addEventListener(name, () => this.look(t));
    }
    return button;
  }

  /** Look at the t-th word written: its ribbons, its chances, in words. */
  look(t) {
    this.chosen = t;
    const { page, named, run: { typed, written, chances } } = this;
    [...page.written.children].forEach((item, i) =>
      item.firstChild.setAttribute("aria-pressed", i === t));
    this.ribbons();
    const taken = ["[SOS]", ...typed, "[EOS]"].map((word, s) => ({ word, share: this.share(t, s) }))
      .sort((a, b) => b.share - a.share);
    const two = taken.slice(0, 2).map(({ word, share }) => `${word} (${percent(share)})`);
    page.attends.textContent = `To write ${named(written[t])}, it attends most to ${two.join(" and ")}.`;
    const likely = chances[t].map((share, id) => ({ share, id }))
      .sort((a, b) => b.share - a.share).slice(0, 4);
    page.chances.replaceChildren(...likely.map(({ share, id }) => {
      const bar = element("li", `${named(id)}: ${percent(share)}`);
      bar.style.setProperty("--share", share);
      return bar;
    }));
  }

  /** Average the heads' weights from the t-th word written to the s-th read. */
  share(t, s) {
    const { weights } = this.run;
    const heads = [...Array(weights.shape[1]).keys()];
    return heads.reduce((sum, h) => sum + weights.at(0, h, t, s), 0) / heads.length;
  }

  ribbons() {
    const frame = this.page.ribbons.getBoundingClientRect();
    const centre = (item) => {
      const box = item.getBoundingClientRect();
      return box.left + box.width / 2 - frame.left;
    };
    const [from, to] = ["read", "written"].map((part) => [...this.page[part].children].map(centre));
    const half = frame.height / 2;
    this.page.ribbons.innerHTML = to.flatMap((x, t) => from.map((start, s) => {
      const share = this.share(t, s);
      if (share < 0.04) return "";
      const bend = `M${start},0C${start},${half} ${x},${half} ${x},${2 * half}`;
      return `<path d="${bend}" stroke-width="${24 * share}"${t === this.chosen ? ' class="chosen"' : ""}/>`;
    })).join("");
  }
}
