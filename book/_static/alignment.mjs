/* The words read and the words written, with a ribbon from each to each, as wide
 * as the attention. */
import { element, inItem } from "./elements.mjs";

const BAND = 24; // how wide a ribbon of all attention is, where there is room

export class Alignment {
  /** Draws in the parts of a `page`; thinner ribbons than `least` are left out. */
  constructor(page, least) {
    Object.assign(this, { page, least });
    new ResizeObserver(() => this.share && this.ribbons()).observe(page.ribbons);
  }

  /** Show words, each a text or an element: `share(t, s)` is the attention of
   * the t-th written to the s-th read. A ribbon has the class of what is
   * written. */
  show(read, written, share) {
    const place = [...this.page.read.children].findIndex((item) =>
      item.contains(document.activeElement));
    this.share = share;
    this.page.read.replaceChildren(...read.map((word) => inItem(word)));
    this.page.written.replaceChildren(...written.map((word) => inItem(word)));
    this.draw();
    this.page.read.children[place]?.querySelector("select")?.focus();
  }

  /** Draw the ribbons before anything is seen, once. */
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.ribbons());
  }

  /** Lay the ribbons of a word side by side, at both of their ends. */
  ribbons() {
    const frame = this.page.ribbons.getBoundingClientRect();
    const centre = (item) => {
      const box = item.getBoundingClientRect();
      return box.left + box.width / 2 - frame.left;
    };
    const [from, to] = ["read", "written"].map((part) => [...this.page[part].children].map(centre));
    const shares = to.map((_, t) => from.map((_x, s) => this.share(t, s))
      .map((share) => (share < this.least ? 0 : share)));
    const read = from.map((_, s) => added(shares.map((row) => row[s])));
    const room = [[from, read], [to, shares.map(added)]].map(([places, sums]) =>
      0.85 * (places[1] - places[0]) / Math.max(...sums));
    const band = Math.min(BAND, ...room.filter(Number.isFinite));
    const starts = from.map((x, s) => x - band * read[s] / 2);
    const ends = to.map((x, t) => x - band * added(shares[t]) / 2);
    const [half, high] = [frame.height / 2, frame.height];
    this.page.ribbons.innerHTML = shares.flatMap((row, t) => row.map((share, s) => {
      const wide = band * share;
      const [x, y] = [starts[s] + wide / 2, ends[t] + wide / 2];
      starts[s] += wide;
      ends[t] += wide;
      const bend = `M${x},0C${x},${half} ${y},${half} ${y},${high}`;
      const look = this.page.written.children[t].firstElementChild.className;
      return share && `<path d="${bend}" stroke-width="${wide}" class="${look}"/>`;
    })).filter(Boolean).join("");
  }
}

const added = (row) => row.reduce((a, b) => a + b, 0);

/** Make a word that was read a list of the `others` that would fit in its place;
 * `changed` is told the words of the new sentence. */
export function exchangeable(typed, place, others, changed, text = typed[place]) {
  if (!others.length) return element("span", text);
  const list = element("select");
  list.setAttribute("aria-label", `Word ${place + 1}, ${text}: exchange it`);
  list.append(new Option(text, typed[place]), ...others.map((other) => new Option(other)));
  list.addEventListener("change", () => changed(typed.with(place, list.value)));
  const word = element("span");
  word.dataset.word = text; // as wide as it is: not every browser centres in a list
  word.append(list);
  return word;
}

/** Write a Nepali word, and mark its ending: -ले for the one who does something,
 * -लाई for the one to whom it is done. */
export function inNepali(word) {
  const whole = element("span", word);
  whole.lang = word.startsWith("[") ? "en" : "ne";
  whole.innerHTML = whole.innerHTML.replace(/ले$/, "<u>$&</u>").replace(/लाई$/, "<b>$&</b>");
  return whole;
}
