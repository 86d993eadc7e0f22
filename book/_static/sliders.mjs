/* A slider and a field for each size of a preset. */
import { element, marked } from "./written.mjs";

// What a size counts, and how far its slider goes.
const SIZE = {
  B: ["sentences side by side", 1024],
  T: ["target positions", 16384],
  S: ["source positions", 16384],
  H: ["heads", 128],
  D: ["channels per head", 512],
  F: ["hidden channels", 65536],
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
  choose({ sizes, least = {}, most = {} }, wanted = {}) {
    this.own = sizes;
    this.limits = Object.fromEntries(Object.keys(sizes).map((name) =>
      [name, [least[name] ?? 1, most[name] ?? SIZE[name][1]]]));
    const given = Object.entries(wanted)
      .filter(([name, text]) => name in sizes && this.can(name, Number(text)));
    this.sizes = this.fitting({
      ...sizes, ...Object.fromEntries(given.map(([name, text]) => [name, Number(text)])),
    });
    this.controls = {};
    this.place.replaceChildren(...Object.keys(sizes).map((name) => this.control(name)));
    this.controls.D.field.parentNode.after(this.channels());
    this.error.textContent = "";
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
    const means = name === "T" && !this.own.S ? "positions" : SIZE[name][0];
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

  /** Show C, which follows from H and D. */
  channels() {
    const row = element("div", "size");
    const words = element("span");
    words.append(...marked("C"), " channels: ", ...marked("H*D"));
    this.width = element("output");
    this.width.setAttribute("aria-label", "C, channels");
    row.append(words, this.width);
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
    const [least, most] = this.limits[name].map((size) => size.toLocaleString("en"));
    this.error.textContent = `${name} cannot be ${field.value || "left out"}: `
      + `give a whole number from ${least} to ${most}.`;
    field.value = this.sizes[name];
  }

  /** No sentence is longer than the positions that a model has learned: let
   * the longest grow, or, where that is what moves, the sentences shrink. */
  fitting(wanted, moved) {
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
    const { H, D } = this.sizes;
    this.width.textContent = (H * D).toLocaleString("en");
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
