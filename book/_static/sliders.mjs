/* A slider and a field for each size of a preset. */
import { element, marked } from "./written.mjs";

// What a size counts, and how far its slider goes, in the order of the page.
const SIZE = {
  B: ["sentences side by side", 1024],
  T: ["target positions", 16384],
  side: ["patches along a side", 256],
  S: ["source positions", 16384],
  kv_heads: ["heads with keys and values", 128],
  group: ["heads that share keys and values", 128],
  H: ["heads", 128],
  D: ["channels per head", 512],
  plain_D: ["channels per head without positions", 512],
  rope_D: ["channels per head that rotate with the position", 512],
  qk_D: ["channels of a query and a key"],
  value_D: ["channels of a value", 512],
  kv_D: ["channels made for a key and a value"],
  C: ["channels", 65536],
  q_rank: ["numbers from which all queries are computed", 16384],
  kv_rank: ["numbers from which all keys and values are computed", 16384],
  F: ["hidden channels", 65536],
  top_k: ["experts used for each word", 128],
  idle: ["experts not used for a word", 1024],
  experts: ["experts to choose from", 1024],
  expert_F: ["hidden channels of an expert", 65536],
  V: ["words", 262144],
  src_vocab_size: ["source words", 262144],
  max_len: ["positions to learn", 16384],
  n_layers: ["layers of a stack", 128],
};
const FINE = 4; // steps of a slider to the double

/** The sizes that are chosen, and what chooses them; `moved` is called when
 * one is another, and what cannot be is said in `error`. */
export class Sliders {
  constructor(place, error, moved) {
    Object.assign(this, { place, error, moved, sizes: {} });
  }

  /** Show a preset's sizes: its own, or those that are wanted, as text. */
  choose(costs, wanted = {}) {
    const { least, most, follows } = costs;
    const names = Object.keys(SIZE).filter((name) => name in costs.own);
    const own = Object.fromEntries(names.map((name) => [name, costs.own[name]]));
    Object.assign(this, { costs, own, controls: {}, outputs: {} });
    this.limits = Object.fromEntries(names.map((name) =>
      [name, [least[name] ?? 1, most[name] ?? Math.max(own[name], SIZE[name][1])]]));
    const asked = Object.entries(wanted).filter(([name]) => Object.hasOwn(own, name));
    const given = asked.filter(([name, text]) => this.can(name, Number(text)));
    const refused = asked.find((one) => !given.includes(one));
    this.sizes = this.fitting({
      ...own, ...Object.fromEntries(given.map(([name, text]) => [name, Number(text)])),
    });
    const rows = { ...own, ...Object.fromEntries(follows.map(({ name, text }) => [name, text])) };
    this.place.replaceChildren(...Object.keys(SIZE).filter((name) => name in rows)
      .map((name) => (name in own ? this.control(name) : this.output(name, rows[name]))));
    this.error.textContent = refused ? this.refusal(...refused) : "";
    this.show();
  }

  /** Whether a size is a whole number within its limits. */
  can(name, size) {
    const [least, most] = this.limits[name];
    return Number.isInteger(size) && size >= least && size <= most;
  }

  /** Make a slider and a field for a size. */
  control(name) {
    const [least, most] = this.limits[name];
    const means = this.meaning(name);
    const steps = this.steps(name);
    const field = Object.assign(element("input"), {
      type: "number", id: `size-${name}`, min: least, max: most, inputMode: "numeric",
    });
    const slider = Object.assign(element("input"), {
      type: "range", min: 0, max: steps.length - 1,
    });
    slider.setAttribute("aria-label", `${name}, ${means}: slider`);
    const label = Object.assign(element("label"), { htmlFor: field.id });
    label.append(...marked(name), ` ${means}`);
    slider.addEventListener("input", () => this.move(name, steps[slider.value]));
    field.addEventListener("input", () => {
      if (field.value && this.can(name, Number(field.value))) this.move(name, Number(field.value));
    });
    field.addEventListener("change", () => this.refuse(name, field));
    this.controls[name] = { field, slider, steps };
    const row = element("div", "size");
    row.append(label, field, slider);
    return row;
  }

  /** Say what a size counts; positions are just that where there is no other
   * sequence. */
  meaning(name) {
    if (name === "B" && "side" in this.own) return "pictures side by side";
    const alone = "TS".includes(name) && !("T" in this.own && "S" in this.own);
    return alone ? "positions" : SIZE[name][0];
  }

  /** Show a size that follows from others. */
  output(name, text) {
    const row = element("div", "size");
    const words = element("span");
    words.append(...marked(name), ` ${this.meaning(name)}: `, ...marked(text));
    this.outputs[name] = element("output");
    this.outputs[name].setAttribute("aria-label", `${name}, ${this.meaning(name)}`);
    row.append(words, this.outputs[name]);
    return row;
  }

  /** List the sizes that a slider has: the preset's own, and some steps to the
   * double and to the half of each. */
  steps(name) {
    const found = new Set([this.limits[name][0], this.own[name]]);
    for (let step = -20 * FINE; step <= 20 * FINE; step++) {
      const size = Math.round(this.own[name] * 2 ** (step / FINE));
      if (this.can(name, size)) found.add(size);
    }
    return [...found].sort((a, b) => a - b);
  }

  /** Let a size be another, and those that go with it. */
  move(name, size) {
    this.error.textContent = "";
    this.sizes = this.fitting({ ...this.sizes, [name]: size }, name);
    this.show();
    this.moved();
  }

  /** Say what a field may hold, and put the size back. */
  refuse(name, field) {
    if (field.value && this.can(name, Number(field.value))) return;
    this.error.textContent = this.refusal(name, field.value);
    field.value = this.sizes[name];
  }

  refusal(name, text) {
    const [least, most] = this.limits[name].map((size) => size.toLocaleString("en"));
    return `${name} cannot be ${text || "left out"}: give a whole number from ${least} to ${most}.`;
  }

  /** No sentence is longer than the positions that a model has learned: let
   * the longest grow, or, where that is what moves, the sentences shrink. As
   * little do more experts work than there are. */
  fitting(wanted, moved) {
    if (wanted.top_k > wanted.experts) {
      const [from, to] = moved === "experts" ? ["experts", "top_k"] : ["top_k", "experts"];
      return { ...wanted, [to]: wanted[from] };
    }
    const longest = Math.max(wanted.T, wanted.S ?? 0);
    if (!wanted.max_len || wanted.max_len >= longest) return wanted;
    if (moved !== "max_len") return { ...wanted, max_len: longest };
    const cut = (n) => Math.min(n, wanted.max_len);
    return { ...wanted, T: cut(wanted.T), ...(wanted.S && { S: cut(wanted.S) }) };
  }

  /** Give the sizes with one of them doubled. */
  doubled(name) {
    return this.fitting({ ...this.sizes, [name]: 2 * this.sizes[name] }, name);
  }

  /** Bring sliders and fields to the sizes. */
  show() {
    const every = this.costs.every(this.sizes);
    for (const [name, output] of Object.entries(this.outputs)) {
      output.textContent = every[name].toLocaleString("en");
    }
    for (const [name, { field, slider, steps }] of Object.entries(this.controls)) {
      const size = this.sizes[name];
      if (Number(field.value) !== size) field.value = size;
      const far = (other) => Math.abs(Math.log(other / size));
      const best = steps.reduce((best, other, i) => far(other) < far(steps[best]) ? i : best, 0);
      if (Number(slider.value) !== best) slider.value = best;
      slider.setAttribute("aria-valuetext", size.toLocaleString("en"));
    }
  }
}
