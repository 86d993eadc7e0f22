/* A field for Python: the browser's own text field, so that undo, a phone's keyboard
 * and screen readers work, over rows that number its lines and mark some. */
import { element } from "./elements.mjs";

const INDENT = "    ";
// Written so, it can be undone.
const insert = (text) => document.execCommand("insertText", false, text);
const HINT = "Tab indents; Escape, then Tab, leaves the text. Ctrl+Enter runs it.";

export class Editor {
  /** Fills `root` with a field that has a `label`. `changed` is called when the reader
   * has changed the text, `run` on Ctrl+Enter. */
  constructor(root, original, { label, changed = () => {}, run = () => {} }) {
    const [rows, area, hint] = ["div", "textarea", "small"].map((tag) => element(tag));
    Object.assign(this, { root, original, changed, run, rows, area });
    Object.assign(area, { wrap: "off", spellcheck: false, autocapitalize: "off" });
    area.rows = original.split("\n").length + 1; // where the page gives no height
    area.setAttribute("aria-label", `${label}. ${HINT}`);
    rows.ariaHidden = hint.ariaHidden = true; // the label has the hint
    hint.textContent = HINT;
    root.classList.add("editor");
    root.append(rows, area, hint);
    area.addEventListener("scroll", () => this.follow());
    area.addEventListener("keydown", (event) => this.press(event));
    area.addEventListener("input", () => {
      this.mark();
      this.changed();
    });
    this.text = original;
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.mark();
  }

  /** Find the `changes`, as `hunks` gives them, and mark their lines; and until the text
   * changes another line with a sign, which comes into sight. */
  mark(line, sign = "!") {
    this.changes = hunks(this.original.split("\n"), this.text.split("\n"));
    const marks = this.text.split("\n").map((_, i) => element("div", i + 1));
    for (const { line: first, now } of this.changes) {
      marks[first - 1]?.setAttribute("data-sign", "−"); // of lines that are gone
      for (const i of now.keys()) marks[first - 1 + i].dataset.sign = "+";
    }
    marks[line - 1]?.setAttribute("data-sign", sign);
    marks[line - 1]?.classList.add("marked");
    this.rows.replaceChildren(...marks);
    this.follow();
    const { top, seen } = this.view;
    if (line && (line < top || top + seen <= line)) this.goTo(line, seen / 3);
  }

  /** Show a line, with some `above` it. */
  goTo(line, above = 0) {
    const start = this.text.split("\n", line - 1).join("\n").length + (line > 1);
    if (document.activeElement !== this.area) this.area.setSelectionRange(start, start);
    this.area.scrollTo(0, (line - 1 - above) * this.view.high);
    this.follow();
  }

  /** How high a line is, which is the first in sight, and how many are. */
  get view() {
    const high = this.rows.firstChild.offsetHeight || 1;
    const { scrollTop, clientHeight } = this.area;
    return { high, top: Math.ceil(scrollTop / high) + 1, seen: Math.floor(clientHeight / high) };
  }

  follow() {
    this.rows.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  press(event) {
    const { key, shiftKey, altKey, isComposing } = event;
    const leaves = this.escaped || shiftKey || altKey;
    const command = event.ctrlKey || event.metaKey;
    this.escaped = key === "Escape";
    if (isComposing || key !== "Enter" && (key !== "Tab" || leaves || command)) return;
    event.preventDefault();
    const { value, selectionStart: from, selectionEnd: to } = this.area;
    const start = value.lastIndexOf("\n", from - 1) + 1;
    const before = value.slice(start, from);
    if (key === "Tab" && value.slice(from, to).includes("\n")) {
      this.area.setSelectionRange(start, to);
      insert(value.slice(start, to).replace(/^(?=.)/gm, INDENT));
      this.area.setSelectionRange(start, this.area.selectionEnd);
    } else if (key === "Tab") insert(INDENT);
    else if (command) this.run();
    else insert(`\n${before.match(/^ */)[0]}${/:\s*$/.test(before) ? INDENT : ""}`);
  }
}

/** List what makes some lines others: at which `line`, from 1, what was `old` there and
 * what is `now`. */
export function hunks(before, after) {
  const same = before.concat(null).map(() => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      same[i][j] = before[i] === after[j] ? same[i + 1][j + 1] + 1
        : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const found = [];
  let [i, j, open] = [0, 0, null];
  while (i < before.length || j < after.length) {
    if (before[i] === after[j]) [i, j, open] = [i + 1, j + 1, null];
    else {
      if (!open) found.push(open = { line: j + 1, old: [], now: [] });
      if (j === after.length || same[i + 1]?.[j] >= same[i][j + 1]) open.old.push(before[i++]);
      else open.now.push(after[j++]);
    }
  }
  return found;
}

/** Say in one piece what makes a text another: what stood there, which stood nowhere
 * else, and what is there now. */
export function asEdit(before, after) {
  const [a, b] = [before, after].map((text) => text.split("\n"));
  const end = Math.min(a.length, b.length);
  let [from, to] = [0, 0];
  while (from < end && a[from] === b[from]) from++;
  while (to < end - from && a.at(-1 - to) === b.at(-1 - to)) to++;
  const piece = (lines) => lines.slice(from, lines.length - to).join("\n");
  while (edited(before, piece(a), piece(b)) !== after) from ? from-- : to--;
  return { old: piece(a), now: piece(b) };
}

/** Put `now` where `old` stands in a text; null unless it stands there once. */
export function edited(text, old, now) {
  const once = old && text.includes(old) && text.indexOf(old) === text.lastIndexOf(old);
  return once ? text.replace(old, () => now) : null;
}
