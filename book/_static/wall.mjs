/* All bugs, each with the share of test sentences that it leaves right. */
import { element } from "./elements.mjs";

export const plainly = (name) => name.replaceAll("_", " ");

export class Wall {
  // The name of the bug that stands `by` places after another.
  beside = (name, by) => [...this.buttons.keys()].at(([...this.buttons.keys()].indexOf(name) + by) % this.buttons.size);

  /** Counts on the buttons that the `wall` has; the other bugs get theirs on its `shelves`. */
  constructor({ wall, shelves }, bugs, tests) {
    for (const [shelf, row] of Map.groupBy(bugs, (bug) => bug.shelf)) {
      const buttons = row.map((bug) => counted(wall.querySelector(`[data-bug=${bug.name}]`), bug, tests));
      shelves.append(element("p", shelf), ...buttons.filter((button) => !button.isConnected));
    }
    this.buttons = new Map([...wall.querySelectorAll("button")].map((button) => [button.dataset.bug, button]));
  }

  /** Show which bug is planted, and which are no suspects any more. */
  show(planted, cleared) {
    for (const [name, button] of this.buttons)
      Object.assign(button, { ariaPressed: name === planted, ariaDisabled: cleared.has(name) || null });
  }
}

function counted(own, { name, says, changed, still_right: right }, tests) {
  const button = Object.assign(own ?? element("button", `${plainly(name)} `), { type: "button", ariaDescription: says });
  button.dataset.bug = name;
  button.style.setProperty("--share", (right ?? 0) / tests);
  button.append(element("b", `${changed === 0 ? "○ " : ""}${right ?? "error"}`));
  return button;
}
