/* All bugs, by shelf, each with the share of test sentences that it leaves right. */
import { element } from "./elements.mjs";

export const plainly = (name) => name.replaceAll("_", " ");

export class Wall {
  // The name of the bug that stands `by` places after another.
  beside = (name, by) => [...this.buttons.keys()].at(([...this.buttons.keys()].indexOf(name) + by) % this.buttons.size);

  /** Puts the `bugs` in a `root`, the longest shelf first, so that two columns are equally
   * long; `pressed` is told the name of the one that is pressed. */
  constructor(root, bugs, tests, pressed) {
    const shelves = [...Map.groupBy(bugs, ({ shelf }) => shelf)].sort(([, a], [, b]) => b.length - a.length);
    this.buttons = new Map(shelves.flatMap(([, row]) => row.map((bug) => [bug.name, pressable(bug, tests, pressed)])));
    for (const [shelf, row] of shelves) root.append(element("p", shelf), ...row.map(({ name }) => this.buttons.get(name)));
  }

  /** Show which bug is planted, and which are no suspects any more. */
  show(planted, cleared) {
    for (const [name, button] of this.buttons)
      Object.assign(button, { ariaPressed: name === planted, ariaDisabled: cleared.has(name) || null });
  }
}

function pressable({ name, says, changed, still_right: right }, tests, pressed) {
  const button = Object.assign(element("button", `${plainly(name)} `), { type: "button", ariaDescription: says });
  button.style.setProperty("--share", (right ?? 0) / tests);
  button.append(element("b", `${changed === 0 ? "○ " : ""}${right ?? "error"}`));
  button.addEventListener("click", () => pressed(name));
  return button;
}
