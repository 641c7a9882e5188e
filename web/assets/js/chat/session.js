// An open conversation: its socket and its transcript, joined so that nothing is lost or duplicated.
//
// On every (re)connect: resend unacknowledged messages, load the transcript, then `resume` after the last frame it reflects.
// Frames that arrive meanwhile are held and put in order.

import { Problem, conversationPath, optionalPath, request, sessionPath } from "../shared/api.js";
import { now as serverNow } from "../shared/clock.js";
import { texts } from "../texts.js";
import { sendable } from "./attachments.js";
import { ChangedFiles, touchesFiles } from "./changed-files.js";
import { Conversation } from "./conversation.js";
import { editDraft, keepSaid, saidIn } from "./drafts.js";
import { FrameOrder } from "./order.js";
import { freshId } from "./outbox.js";
import { ChatSocket } from "./socket.js";
import { turnSequence, oldestFirst } from "./turn.js";

/** @import { Path } from "../shared/api.js" */
/** @import { BackgroundCommand, CommandStopped, SessionForked } from "../wire/api.js" */
/** @import { Outbox } from "./outbox.js" */
/** @import { LooseFrame, TurnFrame } from "../wire/frames.js" */
/** @import { Attachment, Effort, ServerFrame, SessionNews, Turn } from "./types.js" */
/** @import { Link } from "./socket.js" */

/**
 * @typedef {{changed: () => void, link: (link: Link) => void, loaded: () => void, failed: (problem: Problem) => void,
 *   accepted: () => void, onFrame: (turn: Turn, frame: TurnFrame) => void, onNotice: (text: string) => void,
 *   hasTranscripts: () => boolean, watching: () => void, news: (frame: SessionNews) => void}} Watcher
 */

const page = 60;
/** How many messages are loaded at once on the way to a far one. */
const stride = 1000;
const busyMs = 50;
const ackPatienceMs = 12000;
/** How long a message that could not be stored waits before it is resent. */
const holdMs = 4000;

export class Session {
  name;
  conversation = new Conversation();
  /** What tools have changed. */ files;
  isLoaded = false;
  /** The commands that run in its background. @type {BackgroundCommand[]} */ running = [];
  #outbox;
  #watcher;
  #socket;
  #order;
  #generation = 0;
  #isLoadingOlder = false;
  #isClosed = false;
  /** Whether its name is new, so that there is no transcript to load. */ #isFresh;
  #gapAt = 0;
  /** What to do once the server has replayed what was missed. @type {(() => void) | null} */ #whenResumed = null;
  /** How many requests to resume wait for their answer on this connection. */ #resumes = 0;
  /** Whether this connection has not been confirmed yet to bring news of all conversations. */ #watchesAnew = false;
  /** The turn to stop as soon as the server is reachable. */ #toStop = "";
  /** @type {Map<string, {turn: string, text: string}>} Unacknowledged edits by the id of the request. */ #edits = new Map();
  /** @type {Map<string, number>} Messages that the server could not store, and when it said that. */ #held = new Map();
  /** @type {Set<() => void>} */ #ackWaiters = new Set();
  /** @type {ReturnType<typeof setInterval> | undefined} Looks for silence while something is awaited. */ #pulse;

  /** @param {string} name @param {Outbox} outbox @param {Watcher} watcher @param {boolean} isFresh whether the name is new */
  constructor(name, outbox, watcher, isFresh) {
    this.name = name;
    this.files = new ChangedFiles(name);
    this.#isFresh = isFresh;
    this.#outbox = outbox;
    this.#watcher = watcher;
    this.#order = new FrameOrder((frame) => this.#deliver(frame));
    for (const entry of outbox.of(name)) this.conversation.addLocal(entry);
    this.#socket = new ChatSocket(name, {
      frame: (frame) => this.#receive(frame),
      opened: () => this.#order.hold(),
      link: (link) => watcher.link(link),
      tooLarge: () => this.#refuseOldest(),
    });
    this.#beat();
  }

  close() {
    this.#isClosed = true;
    this.#generation += 1;
    clearInterval(this.#pulse);
    this.#socket.close();
  }

  retryNow() {
    this.#socket.retryNow();
  }

  /** Tells the server whether this page is in sight, so that it notifies devices only of what is not. */
  tellSight() {
    this.#socket.send({ type: "visible", visible: document.visibilityState === "visible" });
  }

  /** Tells the server that a person has seen the conversation. @returns {boolean} whether it could be sent */
  markRead() {
    return this.#socket.send({ type: "read", session: this.name });
  }

  /** Whether the server has the conversation. */
  get isStored() {
    return !this.#isFresh && this.conversation.turns().some((turn) => turn.id);
  }

  /** @param {string} text @param {Attachment[]} attachments @param {{model?: string, effort?: Effort}} [choice] */
  send(text, attachments, choice = {}) {
    const entry = { id: freshId(), session: this.name, text, attachments, at: new Date(serverNow()).toISOString(), ...choice };
    this.#outbox.add(entry);
    this.conversation.addLocal(entry);
    this.#sendMessage(entry);
    this.#beat();
    this.#watcher.changed();
  }

  /** Resends a rejected message as a new one. @param {Turn} turn */
  sendAgain(turn) {
    this.discard(turn);
    if (turn.said) this.send(turn.said.text, turn.said.files, turn.said.choice);
  }

  /** @param {Turn} turn */
  discard(turn) {
    this.conversation.discard(turn.key);
    this.#outbox.remove(turn.key.slice(2));
    this.#watcher.changed();
  }

  /** @returns {boolean} whether there was something to stop */
  stop() {
    const running = this.conversation.unfinished()[0];
    if (!running?.id) return false;
    if (!this.#socket.send({ type: "stop", turn: running.id })) {
      this.#toStop = running.id;
      this.#watcher.onNotice(texts.connection.keptStop);
    }
    return true;
  }

  /**
   * Withdraws a message that waits for its turn. It stays in the conversation.
   * @param {Turn} turn @returns {boolean} whether the server was asked to
   */
  withdraw(turn) {
    if (!turn.id || turn.state !== "queued") return false;
    const isSent = this.#socket.send({ type: "stop", turn: turn.id });
    if (!isSent) this.#watcher.onNotice(texts.connection.noWithdraw);
    return isSent;
  }

  /** Makes another conversation with everything up to the end of a turn. @param {Turn} turn @returns {Promise<string>} its name */
  async fork(turn) {
    const { session_id: id } = await request(forkPath(this.name), { method: "POST", body: { turn: turn.id } });
    return id.replace(/^webchat:/, "");
  }

  /** @param {string} id @param {"approve" | "deny"} decision @param {import("../shared/approval-card.js").Terms} terms */
  async decide(id, decision, terms = {}) {
    const found = this.conversation.approval(id);
    if (!found || found.part.sending || found.part.decision) return;
    Object.assign(found.part, { sending: true, fault: "" });
    found.turn.version += 1;
    this.#watcher.changed();
    if (this.#socket.send({ type: "approval", id, decision, ...terms })) return;
    try {
      await request(`/api/approvals/${encodeURIComponent(id)}`, { method: "POST", body: { decision, ...terms } });
    } catch (problem) {
      const fault = terms.input ? /** @type {Error} */ (problem).message : "";
      Object.assign(found.part, { sending: false, fault });
      found.turn.version += 1;
      this.#watcher.onNotice(fault || texts.approval.failed);
      this.#watcher.changed();
    }
  }

  /**
   * Retries a turn, or answers it from an edited message.
   * @param {Turn} turn @param {"retry" | "edit"} type @param {string} [text] @param {Attachment[]} [files] those that stay
   * @returns {boolean} whether the request was sent; if not, the user was notified and nothing has changed
   */
  branch(turn, type, text, files) {
    const id = freshId();
    if (!turn.id || !this.#socket.send({ type, id, session: this.name, turn: turn.id, text, attachments: files?.map(sendable) })) {
      this.#watcher.onNotice(type === "edit" ? texts.connection.keptEdit : texts.connection.noRetry);
      return false;
    }
    if (text !== undefined) this.#edits.set(id, { turn: turn.id, text });
    this.conversation.replaceFrom(id, turn.id, type, text, files);
    this.#watcher.changed();
    return true;
  }

  /**
   * Loads everything from a message on, so that what is shown has no gap.
   * @param {string} message @returns {Promise<Turn | undefined>} its exchange, or undefined if the message is gone
   */
  async reach(message) {
    const around = conversationPath(this.name, { limit: 1, around: message });
    const { messages } = await request(around).catch((problem) => {
      if (problem instanceof Problem && problem.status === 404) return { messages: [] };
      throw problem;
    });
    if (messages.length === 0) return undefined;
    await this.#loadWhile(() => Number(this.conversation.oldestMessage()) > Number(message));
    return this.conversation.turnOf(messages[0]);
  }

  /**
   * Loads everything since a time.
   * @param {number} time in ms; -Infinity is the beginning
   * @returns {Promise<Turn | undefined>} the first exchange since then
   */
  async reachTime(time) {
    const at = (/** @type {Turn | undefined} */ turn) => Date.parse(turn?.said?.at ?? turn?.at ?? "");
    await this.#loadWhile(() => !(at(this.conversation.turns()[0]) < time));
    return this.conversation.turns().find((turn) => !(at(turn) < time));
  }

  /** Loads older messages until there are none, or enough. @param {() => boolean} isShort */
  async #loadWhile(isShort) {
    while (!this.#isClosed && this.conversation.hasOlder && isShort()) {
      // Scrolling may be loading a page at the moment.
      if (this.#isLoadingOlder) await new Promise((resolve) => setTimeout(resolve, busyMs));
      else await this.loadOlder(stride);
    }
  }

  /**
   * Loads the page before the oldest message.
   * @param {number} [limit] @returns {Promise<boolean>} whether there are more messages to show
   */
  async loadOlder(limit = page * 2) {
    const before = this.conversation.oldestMessage();
    if (this.#isLoadingOlder || !this.conversation.hasOlder || !before) return false;
    this.#isLoadingOlder = true;
    try {
      const detail = await request(conversationPath(this.name, { limit, before }));
      // A reconnect may have restarted the transcript meanwhile. Then this page does not join up and is requested again.
      if (before !== this.conversation.oldestMessage()) return true;
      this.conversation.prepend(oldestFirst(detail.messages ?? []), detail.has_more, detail);
      void this.files.look(this.conversation.turns());
      return true;
    } finally {
      this.#isLoadingOlder = false;
    }
  }

  /** Chooses another version of an answer or a question. @param {string} turn @returns {Promise<boolean>} whether it is shown */
  async choose(turn) {
    try {
      await request(`${sessionPath(this.name)}/switch`, { method: "POST", body: { turn } });
    } catch (problem) {
      this.#watcher.onNotice(/** @type {Error} */ (problem).message);
      return false;
    }
    await this.synchronise();
    return true;
  }

  /** Synchronises the page with the server. */
  async synchronise() {
    this.#generation += 1;
    const generation = this.#generation;
    this.#whenResumed = null;
    this.#order.hold();
    const unsent = this.#outbox.unsent(this.name);
    for (const entry of unsent) {
      this.conversation.addLocal(entry);
      this.#sendMessage(entry);
    }
    if (unsent.length > 0) await this.#acknowledged();
    const asked = turnSequence();
    const { detail, problem } = await this.#fetchDetail();
    if (generation !== this.#generation) return;
    if (detail) {
      const messages = oldestFirst(detail.messages ?? []);
      this.conversation.apply({ ...detail, messages, has_more: detail.has_more ?? messages.length >= page }, asked);
      void this.files.look(this.conversation.turns());
      this.#giveBackEdits();
      this.#order.startAfter(detail.seq ?? 0);
    }
    this.isLoaded ||= !problem;
    this.#whenResumed = () => {
      this.#order.release();
      if (problem) this.#watcher.failed(problem);
      else this.#watcher.loaded();
    };
    this.#resumes += 1;
    this.#socket.send({ type: "resume", session: this.name, after: this.#order.after });
    this.#stopLate();
  }

  /** Shows what was held back, now that the replay is complete. */
  #resumed() {
    // The answer to an earlier request says nothing of the last one.
    this.#resumes -= 1;
    // The server has handled what was sent before the request to resume.
    if (this.#watchesAnew) this.#watcher.watching();
    this.#watchesAnew = false;
    if (this.#resumes > 0) return;
    this.#whenResumed?.();
    this.#whenResumed = null;
  }

  /** @returns {Promise<{detail?: import("./types.js").SessionDetail, problem?: Problem}>} */
  async #fetchDetail() {
    if (this.#isFresh) return {};
    try {
      const detail = await request(optionalPath(this.name, { limit: page }));
      // A conversation without messages is not stored yet.
      return detail.session_id ? { detail } : {};
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      // Without the dashboard, transcripts are not available.
      return problem.status === 404 ? {} : { problem };
    }
  }

  /** @param {ServerFrame} frame */
  #receive(frame) {
    if (frame.type === "session") return this.#watcher.news(frame);
    if (frame.type === "commands") return this.#takeCommands(frame);
    this.#beat();
    if (frame.type === "ready") {
      this.#resumes = 0;
      // Those of a server that is gone are gone, too. This one tells of its own.
      this.running = [];
      this.#watchesAnew = this.#socket.send({ type: "watch" });
      this.tellSight();
      void this.synchronise();
    } else if (frame.type === "resumed") {
      this.#resumed();
    } else if (frame.type === "ack") {
      this.#acknowledge(frame);
    } else if (frame.type === "error" && !("turn" in frame)) {
      this.#hearError(frame);
    } else {
      this.#order.take(frame);
    }
    this.#watcher.changed();
  }

  /** @param {Extract<LooseFrame, {type: "commands"}>} frame */
  #takeCommands({ session_id: id, commands }) {
    if (id !== `webchat:${this.name}`) return;
    this.running = commands.filter(({ state }) => state === "running");
    this.#watcher.changed();
  }

  /** Stops a command in the background. @param {number} number @returns {Promise<unknown>} */
  stopCommand(number) {
    return request(stopPath(this.name, number), { method: "POST" });
  }

  /** @param {ServerFrame} frame */
  #deliver(frame) {
    // Another branch is the conversation now, chosen on this device or on another one.
    if (frame.type === "switched") return void this.synchronise();
    if (!("turn" in frame)) {
      if ("message" in frame) this.#watcher.onNotice(frame.message);
      return;
    }
    const { turn, isUnknown } = this.conversation.frame(frame);
    const text = isUnknown && !turn.said && saidIn(frame.turn);
    if (text) turn.said = { text, files: [], at: null, state: "sent", error: "" };
    if (isUnknown && !turn.said) void this.synchronise();
    if (frame.type === "done" && touchesFiles(turn)) void this.files.look([turn], true);
    this.#watcher.onFrame(turn, frame);
  }

  /** @param {Extract<TurnFrame, {type: "ack"}>} frame */
  #acknowledge(frame) {
    const local = this.#local(frame.id);
    this.#outbox.remove(frame.id);
    this.#held.delete(frame.id);
    this.#edits.delete(frame.id);
    this.#isFresh = false;
    if (local?.said && !this.#watcher.hasTranscripts()) keepSaid(frame.turn, local.said.text);
    this.conversation.acknowledge(frame);
    for (const wake of this.#ackWaiters) wake();
    this.#watcher.accepted();
    // What the server has made of a document, or why it could not read it, is in the transcript.
    const hasDocuments = local?.said?.files.some(({ upload, data }) => upload && data === undefined);
    if (local && (local.request !== "message" || hasDocuments)) void this.synchronise();
  }

  /** Handles an error outside of turns: about a message, a decision, or a replay. @param {Extract<LooseFrame, {type: "error"}>} frame */
  #hearError({ code, message, id }) {
    if (code === "storage_unavailable" && this.#hold(id, message)) return;
    if (code === "resume_gap") {
      // The transcript has what the replay lacks, at the latest once the turn has ended; retrying at once is useless.
      if (Date.now() - this.#gapAt < 10000) return this.#resumed();
      this.#gapAt = Date.now();
      this.#resumes -= 1;
      void this.synchronise();
      return;
    }
    const asked = id && this.conversation.approval(id);
    if (asked) {
      Object.assign(asked.part, { sending: false, fault: message });
      asked.turn.version += 1;
    }
    const isBranch = this.#local(id)?.request !== "message";
    if (!this.#refuse(id, message) || isBranch) this.#watcher.onNotice(message);
  }

  /** A message that is not acknowledged yet. @param {string | undefined} id */
  #local(id) {
    return this.conversation.turns().find((turn) => turn.key === `l:${id}`);
  }

  /**
   * Keeps a message that the server cannot store at the moment, and resends it until it is accepted.
   * @param {string | undefined} id @param {string} message @returns {boolean} whether it is in the outbox
   */
  #hold(id, message) {
    if (!id || !this.#outbox.unsent(this.name).some((entry) => entry.id === id)) return false;
    this.#held.set(id, Date.now());
    this.conversation.hold(id, message);
    for (const wake of this.#ackWaiters) wake();
    return true;
  }

  /** Resends, in order, the messages that the server could not store. */
  #sendHeld() {
    const entries = this.#outbox.unsent(this.name);
    if (!entries.some(({ id }) => Date.now() - (this.#held.get(id) ?? Infinity) >= holdMs)) return;
    for (const entry of entries.filter(({ id }) => this.#held.has(id))) {
      this.#held.set(entry.id, Date.now());
      this.#sendMessage(entry);
    }
  }

  /** Records that the server rejected a message. @param {string | undefined} id @param {string} message @returns {boolean} */
  #refuse(id, message) {
    if (!id || !this.#local(id)) return false;
    this.#held.delete(id);
    this.#outbox.refuse(id, message);
    this.conversation.refuse(id, message);
    this.#giveBackEdits();
    return true;
  }

  /** The connection was closed because a frame was too large, which must have been the oldest unacknowledged message. */
  #refuseOldest() {
    const oldest = this.#outbox.unsent(this.name)[0];
    this.#refuse(oldest?.id, texts.composer.tooLong);
    this.#watcher.changed();
  }

  /** Reopens the edits that did not reach the server. */
  #giveBackEdits() {
    for (const [id, { turn, text }] of this.#edits) {
      if (this.#local(id)) continue;
      this.#edits.delete(id);
      if (this.conversation.turn(turn)) editDraft(turn).keep(text);
    }
  }

  /** Stops a turn that the user stopped while the server was unreachable, if it is still running. */
  #stopLate() {
    const isGoing = this.conversation.unfinished().some((turn) => turn.id === this.#toStop);
    if (isGoing && !this.#socket.send({ type: "stop", turn: this.#toStop })) return;
    this.#toStop = "";
  }

  /** @param {import("./outbox.js").Unsent} entry */
  #sendMessage({ id, session, text, attachments, model, effort }) {
    const files = attachments.map(sendable);
    const choice = { ...(model ? { model } : {}), ...(effort ? { effort } : {}) };
    const extras = { ...(files.length > 0 ? { attachments: files } : {}), ...choice };
    this.#socket.send({ type: "message", id, session, text, ...extras });
  }

  /** Waits, within a limit, until everything sent is acknowledged. @returns {Promise<void>} */
  #acknowledged() {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#ackWaiters.delete(check);
        resolve();
      };
      const check = () => {
        if (this.#outbox.unsent(this.name).every(({ id }) => this.#held.has(id))) finish();
      };
      const timer = setTimeout(finish, 800);
      this.#ackWaiters.add(check);
      check();
    });
  }

  /** Checks for silence from now on, until nothing is awaited: a page that is only read does nothing. */
  #beat() {
    if (!this.#isClosed) this.#pulse ??= setInterval(() => void this.#checkSilence(), 5000);
  }

  /** Checks on a connection or turn that has gone silent, instead of waiting for it. */
  async #checkSilence() {
    if (this.#outbox.unsent(this.name).length === 0 && this.conversation.unfinished().length === 0) {
      clearInterval(this.#pulse);
      this.#pulse = undefined;
      return;
    }
    if (!this.#socket.isOpen || this.#order.isHolding) return;
    const now = Date.now();
    this.#sendHeld();
    const oldest = this.#outbox.unsent(this.name).find(({ id }) => !this.#held.has(id));
    // Its time is the server's.
    if (oldest && serverNow() - Date.parse(oldest.at) > ackPatienceMs) {
      this.#socket.restart();
      return;
    }
    const silent = this.conversation.unfinished().find((turn) => turn.state === "running" && now - turn.lastFrameAt > 15000);
    if (!silent) return;
    silent.lastFrameAt = now;
    const detail = await request(conversationPath(this.name, { limit: 1 })).catch(() => null);
    const isPending = detail?.pending?.some((entry) => entry.turn === silent.id);
    if (detail && !isPending && silent.state !== "done") void this.synchronise();
  }
}

/** @param {string} name @returns {Path<SessionForked>} */
const forkPath = (name) => `${sessionPath(name)}/fork`;

/** @param {string} name @param {number} number @returns {Path<CommandStopped>} */
const stopPath = (name, number) => `${sessionPath(name)}/commands/${number}/stop`;
