// The model of one conversation: the stored transcript, live turns, and messages not yet acknowledged. Pure: session.js does the
// networking, transcript.js the display.

import { applyFrame, approvalPart } from "./frames.js";
import { newTurn, turnsFromStored } from "./turn.js";

/** @import { Attachment, Effort, Turn, SessionDetail, StoredMessage } from "./types.js" */
/** @import { TurnFrame } from "../wire/frames.js" */
/** @import { Unsent } from "./outbox.js" */

/** Frames that a waiting turn can receive too: notices about the wait, and its end if it was withdrawn. */
const toldWaiting = new Set(["notice", "blocks", "done"]);

export class Conversation {
  /** @type {StoredMessage[]} */ #stored = [];
  /** @type {Turn[]} The stored messages as turns, computed once per change. */ #past = [];
  /** @type {Map<string, Turn>} Live turns by id. */ #live = new Map();
  /** @type {Map<string, Turn>} Unacknowledged messages by the page's own id. */ #local = new Map();
  /** @type {Map<string, string>} The key under which a turn was first shown, which keeps its view on the page. */ #keys =
    new Map();
  /** @type {Set<string>} Turns that a pending retry or edit will replace. */ #replaced = new Set();
  /** @type {Map<string, string[]>} The versions of the turns that have several. */ #versions = new Map();
  hasOlder = false;
  title = "";
  /** What a person has set for it. @type {{model?: string | null, effort?: Effort | null}} */ settings = {};

  /** All turns in display order. @returns {Turn[]} */
  turns() {
    const past = this.#past.map((turn) => (turn.id && this.#live.get(turn.id)) || turn);
    const seen = new Set(past);
    const fresh = [...this.#live.values()].filter((turn) => !seen.has(turn));
    const [begun, waiting] = [fresh.filter((turn) => !turn.isWaiting), fresh.filter((turn) => turn.isWaiting)];
    const shown = [...past, ...begun, ...waiting].filter((turn) => !turn.id || !this.#replaced.has(turn.id));
    return [...shown, ...this.#local.values()];
  }

  /** Accepted turns that have not ended. */
  unfinished() {
    return [...this.#live.values()].filter((turn) => turn.state !== "done");
  }

  /** @param {string} id @returns {Turn | undefined} */
  turn(id) {
    return this.#live.get(id) ?? this.#past.find((turn) => turn.id === id);
  }

  /**
   * The exchange that a stored message belongs to. One that is not part of a turn belongs to the last exchange begun before it.
   * @param {StoredMessage} message
   */
  turnOf(message) {
    if (message.turn) return this.turn(message.turn);
    return this.#past.findLast(({ key }) => key.startsWith("m:") && Number(key.slice(2)) <= Number(message.id));
  }

  /** The message before which older ones are requested. */
  oldestMessage() {
    return this.#stored[0]?.id;
  }

  /**
   * Applies the server's stored state. Live turns that are stored by now are dropped in favour of it; the frames of those still
   * pending follow.
   * @param {SessionDetail} detail
   * @param {number} asked the number of turns at the time of the request; younger ones are not in the answer
   */
  apply(detail, asked) {
    const messages = detail.messages ?? [];
    // More than a page may be new. Then the transcript starts over, and the reader can scroll to what is before it.
    if (!this.#keepOlderThan(messages)) this.hasOlder = detail.has_more ?? false;
    this.#readVersions(detail);
    this.#readPast();
    this.title = detail.title ?? this.title;
    this.settings = { model: detail.model, effort: detail.effort };
    this.#replaced.clear();
    const pending = new Map((detail.pending ?? []).map((entry) => [entry.turn, entry]));
    for (const [id, turn] of this.#live) if (!pending.has(id) && turn.sequence <= asked) this.#live.delete(id);
    for (const [id, turn] of this.#local)
      if (turn.request !== "message" && turn.sequence <= asked) this.#local.delete(id);
    for (const entry of pending.values()) this.#awaitTurn(entry);
    for (const [id, turn] of this.#live) turn.versions = this.#versions.get(id) ?? turn.versions;
    const inOrder = [...pending.keys()].map((id) => /** @type {[string, Turn]} */ ([id, this.#live.get(id)]));
    this.#live = new Map([...inOrder, ...[...this.#live].filter(([id]) => !pending.has(id))]);
  }

  /**
   * @param {StoredMessage[]} older @param {boolean} [hasMore] whether there are even older ones, if known
   * @param {SessionDetail} [detail] the answer that they came with
   */
  prepend(older, hasMore = true, detail = {}) {
    this.#readVersions(detail);
    const known = new Set(this.#stored.map((message) => message.id));
    const fresh = older.filter((message) => !known.has(message.id));
    this.hasOlder = hasMore && fresh.length > 0;
    this.#stored = [...fresh, ...this.#stored];
    this.#readPast();
  }

  /**
   * Adds a message that the user has just sent.
   * @param {Pick<Unsent, "id" | "text" | "attachments" | "at" | "model" | "effort" | "refused">} message
   */
  addLocal({ id, text, attachments: files, at, model, effort, refused }) {
    if (this.#local.has(id)) return;
    const state = refused ? "failed" : "sending";
    this.#local.set(id, newTurn(`l:${id}`, { said: { text, files, at, state, error: refused ?? "", choice: { model, effort } } }));
  }

  /**
   * Retries a turn, or answers it from an edited message: it and all later turns are hidden until the server decides.
   * @param {string} id @param {string} turnId @param {"retry" | "edit"} request @param {string} [text]
   * @param {Attachment[]} [files]
   */
  replaceFrom(id, turnId, request, text, files) {
    const turns = this.turns();
    const from = turns.findIndex((turn) => turn.id === turnId);
    if (from < 0) return;
    for (const turn of turns.slice(from)) if (turn.id) this.#replaced.add(turn.id);
    const { versions } = turns[from];
    const said = turns[from].said ?? { text: "", files: [], at: null, state: "sent", error: "" };
    this.#local.set(
      id,
      newTurn(`l:${id}`, {
        request,
        replaces: versions.length > 0 ? versions : [turnId],
        said: { ...said, text: text ?? said.text, files: files ?? said.files, state: "sending", error: "" },
      }),
    );
  }

  /** Records that the server has stored a message. @param {{id: string, turn: string, queued?: number}} ack */
  acknowledge({ id, turn: turnId, queued = 0 }) {
    const local = this.#local.get(id);
    if (!local) return;
    this.#local.delete(id);
    if (local.said) Object.assign(local.said, { state: "sent", error: "" });
    local.version += 1;
    if (this.turn(turnId) && !this.#replaced.has(turnId)) return;
    this.#adopt(local, turnId, queued > 0 ? "queued" : "running");
  }

  /** Records that the server rejected a message. @param {string} id @param {string} message */
  refuse(id, message) {
    const local = this.#local.get(id);
    if (!local?.said) return;
    if (local.request !== "message") {
      this.#local.delete(id);
      this.#replaced.clear();
      return;
    }
    local.said.state = "failed";
    local.said.error = message;
    local.version += 1;
  }

  /** Records that the server cannot store a message now; it waits here. @param {string} id @param {string} why */
  hold(id, why) {
    const local = this.#local.get(id);
    if (!local?.said) return;
    local.said.error = why;
    local.version += 1;
  }

  /** Discards an unsent message. @param {string} key @returns {Turn | undefined} */
  discard(key) {
    for (const [id, turn] of this.#local) {
      if (turn.key !== key) continue;
      this.#local.delete(id);
      return turn;
    }
    return undefined;
  }

  /**
   * Applies a frame that belongs to a turn.
   * @param {TurnFrame} frame
   * @returns {{turn: Turn, isUnknown: boolean}} unknown: another client started it, so its message must still be fetched
   */
  frame(frame) {
    let turn = this.#live.get(frame.turn);
    const awaited = turn ? undefined : [...this.#local.entries()].find(([, local]) => local.request !== "message");
    if (!turn && awaited) {
      this.#local.delete(awaited[0]);
      turn = this.#adopt(awaited[1], frame.turn, "running");
    }
    const isUnknown = !turn;
    turn ??= this.#adopt(newTurn(`t:${frame.turn}`), frame.turn, "running");
    if (turn.isWaiting && !toldWaiting.has(frame.type)) this.#begin(turn);
    applyFrame(turn, frame);
    turn.lastFrameAt = Date.now();
    return { turn, isUnknown };
  }

  /** @param {string} id */
  approval(id) {
    for (const turn of this.#live.values()) {
      const part = approvalPart(turn, id);
      if (part) return { turn, part };
    }
    return undefined;
  }

  /**
   * Starts a waiting turn and moves it after those that began earlier. The page may not know of all that waited longer; turns
   * that were withdrawn before it keep their place.
   * @param {Turn} turn
   */
  #begin(turn) {
    for (const [id, other] of [...this.#live]) {
      if (other.isWaiting && (other === turn || other.state === "done")) {
        other.isWaiting = false;
        this.#live.delete(id);
        this.#live.set(id, other);
      }
      if (other === turn) return;
    }
  }

  /** @param {Turn} turn @param {string} id @param {"queued" | "running"} state */
  #adopt(turn, id, state) {
    turn.id = id;
    turn.state = state;
    turn.isWaiting = state === "queued";
    turn.lastFrameAt = Date.now();
    this.#replaced.delete(id);
    this.#live.set(id, turn);
    this.#keys.set(id, turn.key);
    this.#succeed(turn, id);
    return turn;
  }

  /**
   * Records what the turn of a retry or an edit is a version of. The next transcript says it too, but an answer may be shorter than
   * the way there.
   * @param {Turn} turn @param {string} id
   */
  #succeed(turn, id) {
    if (turn.replaces.length === 0) return;
    turn.versions = [...turn.replaces.filter((version) => version !== id), id];
    for (const version of turn.versions) this.#versions.set(version, turn.versions);
  }

  /** @param {SessionDetail} detail */
  #readVersions({ versions = [] }) {
    for (const { turn, turns } of versions) this.#versions.set(turn, turns);
  }

  #readPast() {
    this.#past = turnsFromStored(this.#stored);
    for (const turn of this.#past) {
      turn.key = (turn.id && this.#keys.get(turn.id)) || turn.key;
      turn.versions = (turn.id && this.#versions.get(turn.id)) || turn.versions;
    }
  }

  /** @param {StoredMessage[]} tail @returns {boolean} whether older messages are kept */
  #keepOlderThan(tail) {
    const meeting = this.#stored.findIndex((message) => message.id === tail[0]?.id);
    this.#stored = meeting > 0 ? [...this.#stored.slice(0, meeting), ...tail] : tail;
    return meeting > 0;
  }

  /** @param {{turn: string, text: string, state: string}} entry */
  #awaitTurn({ turn: id, text, state }) {
    const stored = this.#past.find((turn) => turn.id === id);
    const turn = this.#live.get(id) ?? this.#adopt(newTurn(`t:${id}`), id, "queued");
    turn.base = stored?.reply ?? { blocks: [], extras: [], source: "" };
    turn.said ??= stored?.said ?? { text, files: [], at: null, state: "sent", error: "" };
    const isRead = turn.said.files.every(({ data, text: words }) => (data ?? words) !== undefined);
    if (!isRead && stored?.said) turn.said.files = stored.said.files;
    turn.state = state === "running" ? "running" : state === "stopped" ? "done" : "queued";
    turn.isWaiting = state !== "running";
    if (state === "stopped") turn.stopReason = "withdrawn";
    turn.version += 1;
  }
}
