/* Lets one write a cell of the book oneself: what stands in its place runs as a part of
 * the file, and what each name makes is compared with what the book's makes. A page loads
 * this when one presses a button, and again for the next. */
import { element } from "./elements.mjs";
import { Engine } from "./client.mjs";
import { Editor } from "./editor.mjs";
import { keep, recalled } from "./memory.mjs";

const KEPT = "my_transformer.py"; // as the workbench has it
const WRITTEN = "my_transformer.py: written"; // the reader's parts of it, by their names
const NAME = /^(?:def|class) (\w+)/gm;
const METHOD = /^( *)(def .*:)\n(\1 {4}super\(\)\.__init__.*\n)?(?:\1 {4}.*(?:\n|$)|\n(?=\1 {4}))+/gm;
const CHAPTER = / {2}# chapter \d+$/gm; // behind the first line of each
const LINK = '<a href="../book/workbench.html">your file</a>';
const PRINTED = 20; // lines that are shown, each once
const HTML = `<style>${style}</style>
<div></div>
<p class="bar"><button type="button">Run</button>
<button type="button" disabled>Stop</button>
<button type="button">Start again</button></p>
<div role="status"></div>
<pre tabindex="0" aria-label="What your lines print" hidden></pre>
<details><summary>Show the book’s lines</summary></details>`;

const bare = (text) => text.replace(CHAPTER, "");
const lines = (text) => text.split("\n").length;
const above = (part, text) => lines(text.slice(0, text.indexOf(part))) - 1;
const inBrackets = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

class Writing {
  engine = new Engine();

  /** Opens in the place of a cell. */
  constructor(cell) {
    this.book = cell.querySelector("pre").textContent.trim().replace(/\n{3,}/g, "\n\n");
    this.names = Array.from(this.book.matchAll(NAME), ([, name]) => name).join(", ");
    const stub = this.book.replace(METHOD, (_, indent, head, init = "") =>
      `${indent}${head}\n${init}${indent}    ...\n`);
    const root = Object.assign(element("div"), { className: "writing", innerHTML: HTML });
    const [field, status, printed, fold] = root.querySelectorAll("div, pre, details");
    const [run, stop, again] = root.querySelectorAll("button");
    fold.append(...cell.childNodes);
    cell.append(root);
    const editor = new Editor(field, stub, {
      label: `Your ${this.names}`,
      run: () => this.run(),
      changed: () => keep(`${KEPT}: ${this.names}`, editor.text),
    });
    editor.text = recalled(`${KEPT}: ${this.names}`) || stub;
    const first = editor.text.indexOf("...");
    editor.area.setSelectionRange(first, first + 3);
    editor.area.focus();
    root.scrollIntoView({ block: "center" });
    Object.assign(this, { editor, status, printed, stop });
    run.addEventListener("click", () => this.run());
    stop.addEventListener("click", () => {
      this.engine.stop();
      this.say(["Stopped."]);
      run.focus();
    });
    again.addEventListener("click", () => {
      editor.area.select();
      document.execCommand("insertText", false, stub); // so it can be undone
    });
  }

  say(texts, prints = []) {
    this.stop.disabled = true;
    this.status.replaceChildren(...texts.map((text) => element("p", text)));
    this.printed.hidden = !prints.length;
    this.printed.textContent = [...new Set(prints)].slice(0, PRINTED).join("\n");
  }

  async run() {
    if (!this.stop.disabled) this.engine.stop();
    const [text, own] = [bare(myTransformer), bare(this.editor.text.trimEnd())];
    this.say(["Running …"]);
    this.stop.disabled = false;
    this.editor.mark();
    const job = { do: "check", text, cell: this.book, own };
    const { stopped, error, seen, printed } = await this.engine.ask(job);
    if (stopped) return;
    const start = above(this.book, text);
    this.say(error ? this.inWords(error, start, lines(own)) : compared(seen), printed);
    if (!seen?.every(({ says }) => !says)) return;
    this.status.insertAdjacentHTML("beforeend", `<p>${this.putInFile(own)}</p>`);
  }

  /** Say what went wrong, and at which of the reader's lines: they stand below `start`
   * others, and are `many`. */
  inWords({ message, trace = "" }, start, many) {
    const at = [...trace.matchAll(/my_transformer\.py", line (\d+)/g)].map(([, n]) => n - start);
    const line = at.findLast((n) => n > 0 && n <= many);
    const where = line ? `Line ${line}: ` : at.some((n) => n > many) ? "After your lines: " : "";
    this.editor.mark(line);
    return [where + message.slice(0, 300)];
  }

  /** Put the reader's lines where the book's, or their former ones, stand in the file that
   * the workbench has. */
  putInFile(own) {
    const written = JSON.parse(recalled(WRITTEN)) ?? {};
    const file = recalled(KEPT) || myTransformer;
    const old = [written[this.names], this.book].find((part) => part && bare(file).includes(part));
    if (!old) return `${LINK} has other lines here: they are kept.`;
    const rows = file.split("\n");
    const start = above(old, bare(file));
    const taken = rows.splice(start, lines(old), ...own.split("\n")).join("\n");
    rows[start] += taken.match(CHAPTER)?.[0] ?? "";
    const now = rows.join("\n");
    written[this.names] = own;
    keep(KEPT, now === myTransformer ? "" : now);
    keep(WRITTEN, JSON.stringify(written));
    const mine = Object.keys(written).filter((names) => bare(now).includes(written[names]));
    const many = mine.join().split(",").length;
    return `Your lines are now in ${LINK}. Yours so far: ${many} of the model’s ${parts} parts.`;
  }
}

function compared(seen) {
  const found = seen.map(({ name, says, given, made }) => {
    const shapes = made ? `, ${[...given.map(inBrackets), "→", inBrackets(made)].join(" ")}` : "";
    return says ? `✗ ${name} ${says}` : `✓ ${name}: the same numbers${shapes}`;
  });
  return ["With “the hungry dog saw hari.” and “we saw ram.”:", ...found];
}

for (const button of document.querySelectorAll("button.write[aria-busy]")) {
  const cell = button.closest(".cell");
  button.remove();
  new Writing(cell);
}
