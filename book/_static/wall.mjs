/* All bugs, by shelf, each filled to the share of test sentences that it leaves right. */
import { element } from "./elements.mjs";

export const plainly = (name) => name.replaceAll("_", " ");

export class Wall {
  /** Puts the `bugs` in a `root`; `pressed` is told the name of the one that is pressed. */
  constructor(root, bugs, tests, pressed) {
    const columns = [element("div"), element("div")];
    this.buttons = new Map(bugs.map((bug) => [bug.name, pressable(bug, tests, pressed)]));
    for (const shelf of new Set(bugs.map((bug) => bug.shelf))) {
      const [shorter] = columns.toSorted((a, b) => a.children.length - b.children.length);
      shorter.append(element("p", shelf), ...bugs.filter((bug) => bug.shelf === shelf).map(({ name }) => this.buttons.get(name)));
    }
    root.append(...columns);
  }

  /** Show which bug is planted, and which are no suspects any more. */
  show(planted, cleared) {
    for (const [name, button] of this.buttons) {
      button.ariaPressed = name === planted;
      button.ariaDisabled = cleared.has(name) || null;
    }
  }
}

function pressable({ name, changed, still_right: right }, tests, pressed) {
  const button = Object.assign(element("button", `${plainly(name)} `), { type: "button" });
  button.style.setProperty("--share", (right ?? 0) / tests);
  button.append(element("b", `${changed === 0 ? "○ " : ""}${right ?? "error"}`));
  button.addEventListener("click", () => pressed(name));
  return button;
}
