/* Lamps below the translation: which checks notice something about the model. */
import { checks, sentences } from "./checks.mjs";
import { element, inItem } from "./elements.mjs";

/** Lights lamps in a panel, whose parts are given by name; `later` calls a
 * function when the page has nothing else to do. */
export class Lamps {
  constructor(parts, later) {
    Object.assign(this, { parts, later, found: new Map() });
    this.lamps = Object.keys(checks).map((name) => {
      const lamp = element("button");
      lamp.type = "button";
      for (const event of ["pointerenter", "focus", "click"]) {
        lamp.addEventListener(event, () => this.ask(name));
      }
      light(lamp, name, false);
      return lamp;
    });
    parts.lamps.append(...this.lamps.map((lamp) => inItem(lamp)));
  }

  /** Say what a check asks. */
  ask(name) {
    this.parts.asked.replaceChildren(element("b", plainly(name)), ` asks: ${checks[name].asks}`);
  }

  /** Put all checks to a model, one at a time; what they found is kept. */
  show(model) {
    if (model === this.model) return;
    this.model = model;
    this.parts.checks.setAttribute("aria-busy", true);
    if (!this.found.has(model)) this.found.set(model, {});
    this.next(this.found.get(model));
  }

  next(found) {
    const name = Object.keys(checks).find((one) => !(one in found));
    if (!name) return this.draw(found);
    const { model } = this;
    return this.later(() => {
      found[name] ??= checks[name].notice(model, sentences);
      if (model === this.model) this.next(found);
    });
  }

  /** Light the lamps of those that noticed something, and say what. */
  draw(found) {
    const names = Object.keys(checks);
    const lit = names.filter((name) => found[name]);
    this.lamps.forEach((lamp, i) => light(lamp, names[i], found[names[i]]));
    this.parts.noticed.textContent = lit.length
      ? `${lit.length} of ${names.length} checks notice something: ${lit.map(plainly).join(", ")}.`
      : `None of the ${names.length} checks notices anything.`;
    this.parts.said.replaceChildren(...lit.map((name) =>
      inItem(element("b", plainly(name)), `: ${found[name]}`)));
    this.parts.checks.removeAttribute("aria-busy");
  }
}

/** Write a check's name and sign on its lamp. */
function light(lamp, name, on) {
  const sign = element("span", on ? "● " : "○ ");
  sign.setAttribute("aria-hidden", true);
  lamp.classList.toggle("lit", Boolean(on));
  lamp.ariaLabel = `${plainly(name)}${on ? ", notices" : ""}: ${checks[name].asks}`;
  lamp.replaceChildren(sign, plainly(name));
}

const plainly = (name) => name.replaceAll("_", " ");
