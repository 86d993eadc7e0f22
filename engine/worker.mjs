/* What runs the reader's file: MicroPython over the small torch. `given` has what
 * they need: modules of Python by path, `numbers` and `words` of the book's
 * translator, `pairs` as text, and `python()`, which loads MicroPython. */
import { Tensor, mode, size } from "./tensor.mjs";
import { operations } from "./operations.mjs";
import { written } from "./printing.mjs";

const MOST_LINES = 500; // of what is printed, a page is told
const saved = new Map(); // by path, what torch.save was given: text, and tensors

const files = {
  save: (path, text, ...tensors) => {
    saved.set(path, { text, tensors: tensors.map(({ data, shape, kind }) => [data.slice(), shape, kind]) });
  },
  json: (path) => saved.get(path)?.text ?? null,
  tensor: (path, i) => {
    const [data, shape, kind] = saved.get(path).tensors[i];
    return new Tensor(data.slice(), shape, kind);
  },
};

let running = 0; // the module, by its number in Python
let known = null; // while a model is watched: its modules' paths, its tensors' names
let steps = []; // of the last run that was watched
const watch = {
  enter: (module) => {
    const before = running;
    running = module;
    return before;
  },
  begin: (names) => { [known, steps] = [JSON.parse(names), []]; },
  end: () => { known = null; },
};

/** While a model is watched, note what Python asks for as a step. */
const noting = ([op, f]) => [op, (...given) => {
  const out = f(...given);
  if (!known || !(out instanceof Tensor) || given.includes(out)) return out;
  const plain = (x) => (x instanceof Tensor
    ? x.plain ??= { data: x.data, shape: x.shape, name: known.tensors[x.number] } : x);
  steps.push({ op, path: known.modules[running] ?? "", given: given.map(plain), out: plain(out) });
  return out;
}];

/** Find what mixes values, module by module: the left side of its last product of
 * two things that were computed, after a first that compared them. */
function attentions() {
  const products = steps.filter(({ op, given: [x, y] }) =>
    op === "matmul" && x.shape.length > 2 && y.shape.length > 2);
  return [...new Set(products.map(({ path }) => path))].map((path) => ({
    path, all: products.filter((one) => one.path === path),
  })).filter(({ all }) => all.length > 1).map(({ path, all }) => ({ path, weights: nested(all.at(-1).given[0]) }));
}

/** Give the numbers of each sentence as lists of lists: B×H×T×S. */
function nested({ data, shape }) {
  const part = (axes, from) => {
    if (!axes.length) return data[from];
    const step = size(axes.slice(1));
    return Array.from({ length: axes[0] }, (_, i) => part(axes.slice(1), from + i * step));
  };
  return part(shape, 0);
}

/** Read half-precision numbers in base64. */
function halves(text) {
  const signs = atob(text);
  return Float32Array.from({ length: signs.length / 2 }, (_, i) => {
    const bits = signs.charCodeAt(2 * i) | (signs.charCodeAt(2 * i + 1) << 8);
    const [exponent, rest] = [(bits >> 10) & 31, bits & 1023];
    const x = exponent ? 2 ** (exponent - 15) * (1 + rest / 1024) : 2 ** -24 * rest;
    return bits & 0x8000 ? -x : x;
  });
}

/** Keep the book's numbers as the reader's file finds them. */
function keep({ sizes, words, shapes, numbers }) {
  const all = halves(numbers);
  let at = 0;
  const names = Object.keys(shapes);
  const state = Object.fromEntries(names.map((name, i) => [name, { "a tensor": i }]));
  const tensors = Object.values(shapes).map((shape) =>
    new Tensor(all.slice(at, at += size(shape)), shape));
  files.save("translator.pt", JSON.stringify([sizes, ...words, state]), ...tensors);
}

/** Begins Python; then `answer(job, tell)` does a job, tells of it while it is at it,
 * and gives what comes of it. */
export async function begin({ python, modules, translator, pairs }) {
  let print = () => {};
  const noted = Object.fromEntries(Object.entries(operations).map(noting));
  Object.assign(globalThis, { operations: { ...noted, written }, files, watch });
  const machine = await python({ linebuffer: true, heapsize: 1 << 20, pystack: 1 << 16, stdout: (line) => print(line), stderr: () => {} });
  for (const [path, text] of Object.entries(modules)) {
    const file = `/lib/${path}`;
    machine.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")));
    machine.FS.writeFile(file, text);
  }
  machine.FS.writeFile("pairs.tsv", pairs);
  keep(translator);
  machine.runPython("import sys, json\nif '/lib' not in sys.path: sys.path.append('/lib')\nimport running");
  const call = (line, ...given) => {
    globalThis.given = JSON.stringify(given);
    machine.runPython(`import js\nsaid = ${line}\nsaid = json.dumps(said)`);
    return JSON.parse(machine.globals.get("said"));
  };
  const given = "*json.loads(js.given)";

  /** Show what is written of the sentences, and what it attends to. */
  function shots() {
    const texts = call("training.writes()");
    const mixed = attentions().find(({ path }) => path.includes("cross"))?.weights;
    return texts.map((words, i) => ({ written: words, attention: mixed?.[i] && meanOf(mixed[i]) }));
  }

  /** Train, some steps at a time; between them Python clears away. */
  async function train({ seed, steps: many, sentences, every = 10, sample = 78 }, tell) {
    machine.globals.set("training", null);
    call(`globals().__setitem__('training', running.Training(${given}))`, seed, many, sentences, sample);
    const shoot = (step) => tell({ step, shots: shots() });
    const count = (step, whole) => tell({ step, ...call(`training.counts(${whole ? "True" : "False"})`) });
    shoot(0);
    for (let step = 0; ;) {
      const losses = call(`training.go_on(${given})`, every);
      step += losses.length;
      if (losses.length) tell({ step, losses });
      const last = losses.length < every;
      if (last || step % (step < 400 ? every : 5 * every) === 0) shoot(step);
      if (last || step % (5 * every) === 0) count(step, last);
      if (last) return { steps: step };
      await new Promise((rested) => setTimeout(rested));
    }
  }

  return async ({ do: what, text, ...job }, tell) => {
    const printed = [];
    let left = MOST_LINES;
    print = (line) => {
      if (left-- > 0) return what === "run" ? tell({ printed: line }) : printed.push(line);
    };
    try {
      if (what === "write") { // with the model that was trained
        call(`training.watch(${given})`, job.sentences);
        return { error: null, shots: shots() };
      }
      if (what === "check") return { error: null, printed, seen: call(`running.check(${given})`, text, job.cell, job.own) };
      call(`running.run(${given})`, text, what === "run" ? "__main__" : "my_transformer", ...(job.args ?? []));
      if (what === "run") return { error: null };
      if (what === "train") return { error: null, ...await train(job, tell) };
      if (what === "count") return { error: null, ...call("running.count()") };
      const found = call(`running.translate(${given})`, job.sentence, job.written ?? null);
      const layers = attentions().map(({ path, weights }) => ({ path, weights: weights[0] }));
      found.steps = steps;
      found.written.forEach((_, t) => { // as each was when it was written
        found.chances[t] = call("running.when_writing(" + t + ")");
        for (const { path, weights: [heads] } of attentions()) {
          if (path.startsWith("decoder")) {
            layers.find((layer) => layer.path === path)?.weights.forEach((head, h) => { head[t] = heads[h]?.[t]; });
          }
        }
      });
      return { error: null, printed, ...found, attentions: layers };
    } catch (error) {
      return { error: told(error.message), printed };
    } finally {
      known = null;
      mode.grad = true;
      running = 0;
    }
  };
}

function meanOf(heads) {
  return heads[0].map((row, t) => row.map((_, s) =>
    heads.reduce((sum, head) => sum + head[t][s], 0) / heads.length));
}

/** Read what went wrong, and the last line of the reader's file on the way there. */
function told(trace) {
  const lines = [...trace.matchAll(/File "my_transformer\.py", line (\d+)/g)];
  const message = trace.trim().replace(/^[^]*\n {2}File .*\n/, "").replace("isn't defined", "is not defined");
  return { message, line: lines.length ? Number(lines.at(-1)[1]) : null, trace };
}

/** Answer a page, from a worker: jobs come as messages. */
export async function serve(given) {
  const answer = await begin(given);
  globalThis.onmessage = async ({ data }) =>
    postMessage({ found: await answer(data, (part) => postMessage({ part })) });
  postMessage({ ready: true });
}
