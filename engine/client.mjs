/* A page's way to the engine: it begins when something is first asked of it, in a
 * worker, and can be ended at any time. */

const beside = globalThis.document?.currentScript?.src; // where the scripts lie

export class Engine {
  asked = [];

  /** Give what comes of a job; `hear` is told of it on the way. Jobs wait for those
   * before them. */
  ask(job, hear = () => {}) {
    return new Promise((answer) => {
      this.asked.push({ job, hear, answer });
      if (this.asked.length === 1) this.next();
    });
  }

  async next() {
    const [one] = this.asked;
    this.worker ??= this.begin();
    try {
      const worker = await this.worker;
      if (one && one === this.asked[0]) worker.postMessage(one.job);
    } catch {
      Engine.script = null;
      this.stop({ error: { message: "The engine could not be loaded: is there a network?", line: null } });
    }
  }

  /** Fetch the engine's script, once, and begin a worker with it. */
  async begin() {
    Engine.script ??= globalThis.transformerEngine ?? new Promise((loaded, failed) =>
      document.head.append(Object.assign(document.createElement("script"),
        { src: new URL(engineFile, beside), onload: loaded, onerror: failed })));
    await Engine.script;
    const text = new Blob([`(${transformerEngine})()`], { type: "text/javascript" });
    const worker = new Worker(URL.createObjectURL(text));
    return new Promise((ready) => {
      worker.onmessage = ({ data: { part, found } }) => {
        const [one] = this.asked;
        if (part) one.hear(part);
        else if (!found) ready(worker);
        else {
          this.asked.shift();
          one.answer(found);
          if (this.asked.length) this.next();
        }
      };
    });
  }

  /** End what runs, and forget what waits. */
  stop(found = { stopped: true }) {
    this.worker?.then((worker) => worker.terminate(), () => {});
    this.worker = null;
    for (const { answer } of this.asked.splice(0)) answer(found);
  }
}
