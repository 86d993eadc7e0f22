/* The words read and the words written, with a ribbon from each to each, as wide
 * as the attention. Words that change places are seen to travel. */
import { element, inItem } from "./elements.mjs";

const BAND = 24; // how wide a ribbon of all attention is, where there is room
const RISE = 0.06; // of a word on its way to the left, to how far it goes
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class Alignment {
  /** Draws in the parts of a `page`; thinner ribbons than `least` are left out. A change
   * takes `duration` milliseconds, unless the reader wants no motion. */
  constructor(page, least, duration = 0) {
    Object.assign(this, { page, least, duration, shares: [] });
    new ResizeObserver(() => this.share && this.ribbons()).observe(page.ribbons);
  }

  /** Show words, each a text or an element: `share(t, s)` is the attention of
   * the t-th written to the s-th read. A ribbon has the class of what is
   * written. */
  show(read, written, share) {
    const { page, least, shares } = this;
    const duration = STILL.matches ? 0 : this.duration;
    const place = [...page.read.children].findIndex((item) => item.contains(document.activeElement));
    const origins = [page.read, page.written].map((row, i) => this.replace(row, [read, written][i], duration));
    this.clock = page.ribbons.animate([], { duration, easing: "ease-in-out" });
    this.share = (t, s, progress) => {
      const [now, before] = [share(t, s), shares[origins[1][t]]?.[origins[0][s]] ?? 0];
      return progress * (now < least ? 0 : now) + (1 - progress) * before;
    };
    this.draw();
    page.read.children[place]?.querySelector("select")?.focus();
  }

  /** Put words in a row, and give the places that they come from: of the same word, with
   * the same one behind it if there are two. What it was is seen half of the way. */
  replace(row, words, duration) {
    const old = [...row.children].map((item) =>
      [stem(item), item.getBoundingClientRect(), item.lastElementChild]);
    row.replaceChildren(...words.map((word) => inItem(word)));
    return [...row.children].map((item, place) => {
      const [name, next] = [item, item.nextSibling].map(stem);
      const same = [...old.keys()].filter((at) => old[at][0] === name);
      const origin = same.find((at) => (old[at + 1]?.[0] ?? "") === next) ?? same[0] ?? place;
      if (duration && old[origin]) travel(item, old[origin], duration);
      return origin;
    });
  }

  /** Draw the ribbons before anything is seen, once. */
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.ribbons());
  }

  /** Lay the ribbons of a word side by side, at both of their ends, wherever the words
   * are by now. */
  ribbons() {
    const progress = this.clock.effect.getComputedTiming().progress ?? 1;
    if (progress < 1) this.draw();
    const rows = [this.page.read, this.page.written];
    if (progress > 0.5) rows.forEach((row) => row.querySelectorAll(".was").forEach((was) => was.remove()));
    const frame = this.page.ribbons.getBoundingClientRect();
    const [from, to] = rows.map((row) => [...row.children].map((item) => {
      const box = item.getBoundingClientRect();
      return { x: box.left + box.width / 2 - frame.left, y: Math.round(box.top - row.getBoundingClientRect().top) };
    }));
    const shares = this.shares = to.map((_, t) => from.map((_x, s) => this.share(t, s, progress)));
    const sums = [from.map((_, s) => added(shares.map((row) => row[s]))), shares.map(added)];
    const room = [from, to].map((places, i) => 0.85 * (places[1]?.x - places[0]?.x) / Math.max(...sums[i]));
    const band = this.band = progress < 1 && this.band || Math.min(BAND, ...room.filter(Number.isFinite));
    const [starts, ends] = [from, to].map((places, i) => places.map(({ x }, at) => x - band * sums[i][at] / 2));
    const [half, high] = [frame.height / 2, frame.height];
    this.page.ribbons.innerHTML = inOrder(to).flatMap((t) => inOrder(from).map((s) => {
      const wide = band * shares[t][s];
      const [x, y] = [starts[s] + wide / 2, ends[t] + wide / 2];
      starts[s] += wide;
      ends[t] += wide;
      const bend = `M${x},${from[s].y}C${x},${half} ${y},${half} ${y},${high + to[t].y}`;
      const look = this.page.written.children[t].lastElementChild.className;
      return wide && `<path d="${bend}" stroke-width="${wide}" class="${look}"/>`;
    })).filter(Boolean).join("");
  }
}

/** Let a word come from where it was, with what it was over it. */
function travel(item, [, from, old], duration) {
  const to = item.getBoundingClientRect();
  const far = from.left + from.width / 2 - to.left - to.width / 2;
  item.animate({ translate: [`${far}px ${from.top - to.top}px`, "0px 0px"] }, { duration, easing: "ease-in-out" });
  const there = { duration: duration / 2, iterations: 2, direction: "alternate", easing: "ease-out" };
  item.animate({ top: ["0px", `${-RISE * far}px`] }, there);
  const was = old.cloneNode(true); // two may come from it
  item.toggleAttribute("data-changed", was.textContent !== item.textContent);
  was.classList.add("was");
  was.inert = true;
  item.append(was);
}

/** Give the word of an item, without the ending that says who does what. */
const stem = (item) => (item?.querySelector("[data-word]")?.dataset.word
  ?? (item?.querySelector("[lang]") ?? item)?.textContent ?? "").replace(/(ले|लाई)$/, "");
const inOrder = (places) => [...places.keys()].sort((a, b) => places[a].x - places[b].x);
/** Read a text as words and signs, and write them as a text again. */
export const split = (text) => text.toLowerCase().replace(/\|.*/, "").replace(/[.,!?।]/g, " $& ").match(/\S+/g) ?? [];
export const joined = (words) => words.join(" ").replace(/ ([.,?!])/g, "$1");
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
