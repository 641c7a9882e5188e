// Asks a worker one question at a time, each with a time limit. If it is exceeded, the worker is terminated and a new one takes
// the next question. Pure except for the worker, which the caller creates.

/** The time limit once the worker has begun; loading may take longer on a busy machine. */
const workMs = 3000;
const loadMs = 30000;
const mostWaiting = 400;
const mostHopeless = 50;
const mostFailures = 3;

/** @typedef {Pick<Worker, "postMessage" | "terminate" | "addEventListener">} AnyWorker */
/** @typedef {{id: number, question: {language: string, text: string}, answer: (pieces: unknown) => void}} Asked */

export class BoundedWorker {
  #make;
  #times;
  /** @type {AnyWorker | null} */ #worker = null;
  /** @type {Asked[]} */ #waiting = [];
  /** @type {Asked | null} */ #current = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {Set<string>} Questions that timed out are not asked again. */ #hopeless = new Set();
  #count = 0;
  /** The number of consecutive failures to start a worker. */ #failures = 0;

  /** @param {() => AnyWorker} make @param {{workMs: number, loadMs: number}} [times] */
  constructor(make, times = { workMs, loadMs }) {
    this.#make = make;
    this.#times = times;
  }

  /**
   * @param {{language: string, text: string}} question
   * @returns {Promise<unknown>} null if there is no answer
   */
  ask(question) {
    if (this.#hopeless.has(keyOf(question)) || this.#failures >= mostFailures) return Promise.resolve(null);
    return new Promise((answer) => {
      this.#count += 1;
      this.#waiting.push({ id: this.#count, question, answer });
      if (this.#waiting.length > mostWaiting) this.#waiting.shift()?.answer(null);
      this.#next();
    });
  }

  #next() {
    if (this.#current) return;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#current = next;
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage({ id: next.id, ...next.question });
      this.#limit(this.#times.loadMs);
    } catch {
      this.#fail();
    }
  }

  #start() {
    const worker = this.#make();
    worker.addEventListener("message", (event) => this.#receive(worker, /** @type {MessageEvent} */ (event).data));
    worker.addEventListener("error", () => worker === this.#worker && this.#fail());
    return worker;
  }

  /** @param {AnyWorker} worker @param {{id: number, hasBegun?: boolean, pieces?: unknown}} said */
  #receive(worker, { id, hasBegun, pieces }) {
    if (worker !== this.#worker || id !== this.#current?.id) return;
    this.#failures = 0;
    if (hasBegun) this.#limit(this.#times.workMs);
    else this.#settle(pieces ?? null);
  }

  /** @param {number} ms */
  #limit(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#current) this.#hopeless.add(keyOf(this.#current.question));
      for (const oldest of this.#hopeless) {
        if (this.#hopeless.size <= mostHopeless) break;
        this.#hopeless.delete(oldest);
      }
      this.#end();
      this.#settle(null);
    }, ms);
  }

  #fail() {
    this.#failures += 1;
    this.#end();
    this.#settle(null);
  }

  #end() {
    this.#worker?.terminate();
    this.#worker = null;
  }

  /** @param {unknown} pieces */
  #settle(pieces) {
    clearTimeout(this.#timer);
    const settled = this.#current;
    this.#current = null;
    settled?.answer(pieces);
    this.#next();
  }
}

/** @param {{language: string, text: string}} question */
const keyOf = ({ language, text }) => `${language} ${text}`;
