/* Lamps below the translation: which checks notice something about the model. */
import { checks } from "./checks.mjs";
import { element, inItem } from "./elements.mjs";

const NAMES = Object.keys(checks);

/** Lights lamps in a panel, whose parts are given by name. */
export class Lamps {
  constructor(parts) {
    Object.assign(this, { parts, found: null });
    this.lamps = NAMES.map((name) => {
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

  /** Light the lamps of the checks that noticed something, and say what; before that
   * is `found`, all are dark. */
  show(found) {
    if (found === this.found) return;
    this.found = found;
    const lit = NAMES.filter((name) => found?.[name]);
    this.lamps.forEach((lamp, i) => light(lamp, NAMES[i], found?.[NAMES[i]]));
    this.parts.noticed.textContent = !found ? "Checking …"
      : lit.length
        ? `${lit.length} of ${NAMES.length} checks notice something: ${lit.map(plainly).join(", ")}.`
        : `None of the ${NAMES.length} checks notices anything.`;
    this.parts.said.replaceChildren(...lit.map((name) =>
      inItem(element("b", plainly(name)), `: ${found[name]}`)));
    this.parts.checks.ariaBusy = found ? null : true;
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
