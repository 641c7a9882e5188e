// The entries of the live monitor: one for each message, reply, tool call, approval, delivery and job, from the stored history
// and live events alike; deduplicated, newest first, bounded. No page.

/** @import { Block, Message } from "../../../wire/api.js" */
/** @import { ApprovalNews, JobNews, TelemetryNews } from "../../../wire/frames.js" */

/**
 * `order` orders entries of the same time.
 * @typedef {{key: string, at: string, order: number, kind: string, session: string, channel: string, title: string,
 *   detail: string, state: string, ms: number | null,
 *   input: unknown, output: string, turn: string, model: string, untrusted: boolean, message: string, missed?: number, isEnd?: boolean}} Entry
 *   `message`: the message that has the whole text; `isEnd`: nothing of its turn follows
 */

const most = 10000;
/** The conversations that Aethon holds with itself: what stands there as a person's is its own. */
const inner = new Set(["agent", "schedule", "work"]);

/** @param {string} session */
const isInner = (session) => inner.has(session.split(":")[0]);

export class Entries {
  /** @type {Map<string, Entry>} */ #entries = new Map();
  /** @type {Entry[] | null} The sorted entries, until one is added. */ #sorted = null;
  #number = 0;
  /** @type {Map<string, string>} */ #titles = new Map();

  /** Adds a message of a transcript, in the form of the API and the socket. @param {string} session @param {Message} message */
  message(session, message) {
    const { id = "", role = "", content = [], created_at: at = "", turn = "", model = "", stop_reason: reason } = message ?? {};
    if (!Array.isArray(content)) return;
    content.forEach((block, index) => {
      const place = { order: number(id) * 100 + index, message: id, isEnd: Boolean(reason) };
      const base = { at, session, turn: turn ?? "", model: model ?? "", ...place };
      const key = `${session} ${id} ${index}`;
      if (block.type === "tool_call")
        this.#put({
          ...base,
          key: `${session} ${turn} ${block.id}`,
          kind: "tool",
          title: String(block.name ?? ""),
          state: "running",
          input: block.input,
        });
      else if (block.type === "tool_result") this.#result(session, String(turn ?? ""), block, base);
      else if (block.type === "text" && role === "user")
        this.#put({
          ...base,
          key,
          kind: isInner(session) ? "prompt" : "message",
          title: String(block.text ?? ""),
          untrusted: block.untrusted === true,
        });
      else if (block.type === "text" && role === "assistant")
        this.#put({ ...base, key, kind: "reply", title: String(block.text ?? "") });
      else if (block.type === "image")
        this.#put({ ...base, key, kind: role === "user" ? "message" : "note", title: "", detail: "image" });
      else if (block.type === "file")
        this.#put({
          ...base,
          key,
          kind: role === "user" ? "message" : "note",
          title: String(block.name ?? ""),
          detail: "file",
          output: String(block.text ?? ""),
        });
      else if (block.type === "notice")
        this.#put({
          ...base,
          key,
          kind: reason === "error" || /error|failed/.test(block.code ?? "") ? "problem" : "note",
          title: String(block.text ?? ""),
        });
      else if (block.type === "folded")
        this.#put({
          ...base,
          key,
          kind: "note",
          title: "",
          detail: `folded ${block.messages}`,
          output: String(block.summary ?? ""),
        });
    });
  }

  /**
   * @param {string} session @param {string} turn @param {Block} block
   * @param {Pick<Entry, "at" | "session" | "turn" | "model" | "order" | "message">} base
   */
  #result(session, turn, block, base) {
    const key = `${session} ${turn} ${block.call}`;
    const known = this.#entries.get(key);
    const state = block.denied ? "denied" : block.is_error ? "error" : "ok";
    const found = {
      state,
      output: String(block.output ?? ""),
      ms: typeof block.ms === "number" ? block.ms : null,
      untrusted: block.untrusted === true,
      message: base.message,
      ...(block.input ? { input: block.input } : {}),
    };
    this.#put(
      known ? { ...known, ...found } : { ...base, key, kind: "tool", title: String(block.name ?? ""), ...found },
    );
  }

  /** Adds an event of the topic `approvals`, or a pending approval. @param {ApprovalNews} data @param {string} now */
  approval(data, now) {
    const key = `approval ${data.id}`;
    const known = this.#entries.get(key);
    if (data.state === "done") {
      if (known) this.#put({ ...known, state: data.decision === "approve" ? "allowed" : "denied" });
      return;
    }
    this.#put({
      key,
      at: data.created_at ?? now,
      order: 0,
      kind: "approval",
      session: String(data.session_id ?? ""),
      title: String(data.tool ?? ""),
      detail: String(data.summary ?? ""),
      state: "waiting",
      input: data.input,
      turn: String(data.turn ?? ""),
    });
  }

  /** Adds an event of the topic `scheduler`. @param {JobNews} data @param {string} now */
  job({ job_id: job, change, run }, now) {
    if (change !== "run_started" && change !== "run_ended") return;
    const key = `job ${job} ${run?.run_id ?? run?.started_at ?? now}`;
    const status = String(run?.status ?? (change === "run_started" ? "running" : "ok"));
    this.#put({
      key,
      at: run?.started_at ?? now,
      order: 0,
      kind: "job",
      session: "",
      title: String(job ?? ""),
      detail: String(run?.error ?? ""),
      state: status,
    });
  }

  /** Adds telemetry that is in no transcript: deliveries, refusals, errors, jobs, channel states. @param {TelemetryNews} event */
  measured(event) {
    const kind = { delivery: "delivery", denial: "problem", error: "problem", channel: "problem", job: "job" }[
      String(event?.type)
    ];
    if (!kind) return;
    const at = String(event.timestamp ?? "");
    const key = `measured ${at} ${event.type} ${event.name} ${event.session_id ?? ""}`;
    if (event.type === "channel" && event.status === "ok") return;
    const state = kind === "delivery" && event.status === "ok" ? "sent" : String(event.status ?? "");
    const ms = typeof event.duration === "number" ? event.duration * 1000 : null;
    const channel = kind === "delivery" || event.type === "channel" ? String(event.name ?? "") : "";
    this.#put({
      key,
      at,
      order: 0,
      kind,
      session: String(event.session_id ?? ""),
      title: String(event.name ?? ""),
      detail: String(event.detail ?? ""),
      state,
      ms,
      turn: String(event.turn ?? ""),
      ...(channel ? { channel } : {}),
    });
  }

  /** Notes what conversations are called. @param {{session_id: string, title?: string}[]} sessions */
  name(sessions) {
    for (const { session_id: id, title } of sessions) if (title) this.#titles.set(id, title);
  }

  /** What a conversation is called; its id, if nothing better is known. @param {string} session */
  nameOf(session) {
    return this.#titles.get(session) ?? session;
  }

  /** The entry with this key. @param {string} key */
  get(key) {
    return this.#entries.get(key);
  }

  /** Records a gap. @param {number} missed @param {string} at */
  gap(missed, at) {
    this.#number += 1;
    this.#put({ key: `gap ${this.#number}`, at, order: 0, kind: "gap", session: "", title: "", missed });
  }

  /** Removes the entries of a deleted session. @param {string} session */
  forget(session) {
    for (const [key, entry] of this.#entries)
      if (entry.session === session && entry.kind !== "gap") this.#entries.delete(key);
    this.#sorted = null;
  }

  get size() {
    return this.#entries.size;
  }

  /** All entries, newest first. @returns {Entry[]} */
  all() {
    this.#sorted ??= [...this.#entries.values()].sort((one, other) =>
      one.at < other.at ? 1 : one.at > other.at ? -1 : other.order - one.order,
    );
    if (this.#sorted.length > most) {
      for (const entry of this.#sorted.splice(most)) this.#entries.delete(entry.key);
    }
    return this.#sorted;
  }

  /** @param {{channel: string, session: string, kind: string, text: string}} wanted */
  matching({ channel, session, kind, text }) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return this.all().filter((entry) => {
      if (entry.missed) return true;
      if (
        (channel && entry.channel !== channel) ||
        (session && entry.session !== session) ||
        (kind ? entry.kind !== kind : entry.kind === "prompt")
      )
        return false;
      return words.every(
        (word) => searchable(entry).includes(word) || this.nameOf(entry.session).toLowerCase().includes(word),
      );
    });
  }

  channels() {
    return [...new Set(this.all().map(({ channel }) => channel))].filter(Boolean).sort();
  }

  /** @param {Partial<Entry> & {key: string, at: string, kind: string, session: string}} entry */
  #put(entry) {
    const channel = entry.channel ?? entry.session.split(":")[0];
    const whole = {
      order: 0,
      title: "",
      detail: "",
      state: "",
      ms: null,
      input: undefined,
      output: "",
      turn: "",
      model: "",
      untrusted: false,
      message: "",
      ...entry,
      channel,
    };
    // Reloaded history must not undo what a live event reported.
    const known = this.#entries.get(entry.key);
    if (known && known.state !== "running" && whole.state === "running") return;
    this.#entries.set(entry.key, whole);
    this.#sort(whole, known);
  }

  /**
   * Keeps the order if that is cheap: the newest entry goes first, a changed one stays.
   * @param {Entry} entry
   * @param {Entry | undefined} known
   */
  #sort(entry, known) {
    const sorted = this.#sorted;
    if (!sorted) return;
    const at = known && known.at === entry.at && known.order === entry.order ? sorted.indexOf(known) : -1;
    if (at >= 0) sorted[at] = entry;
    else if (!known && (sorted.length === 0 || entry.at > sorted[0].at)) sorted.unshift(entry);
    else this.#sorted = null;
  }
}

/** @type {WeakMap<Entry, string>} */
const texts = new WeakMap();

/** @param {Entry} entry */
function searchable(entry) {
  let text = texts.get(entry);
  if (text === undefined) {
    const input = entry.input === undefined ? "" : JSON.stringify(entry.input);
    text = [entry.title, entry.detail, entry.session, input, entry.output.slice(0, 4000)].join(" ").toLowerCase();
    texts.set(entry, text);
  }
  return text;
}

/** The texts of events and of the history end with an ellipsis where they were cut. @param {Entry} entry */
export const isCut = (entry) =>
  entry.message !== "" &&
  (entry.input === null || [entry.title, entry.output].some((text) => text.length > 1000 && text.endsWith("…")));

/** @param {string} id */
function number(id) {
  const found = Number(id);
  return Number.isFinite(found) ? found : 0;
}
