// The view of one exchange. `update` changes only what differs, so that focus, selection and expanded lines survive while a reply
// streams in.

import { arrange, fill, make, refill } from "../shared/dom.js";
import { badge, button, iconButton, note } from "../shared/controls.js";
import { copyButton } from "../shared/copy.js";
import { icon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { compact, money, timeElement } from "../shared/time.js";
import { texts } from "../texts.js";
import { forkWords } from "../texts/forks.js";
import { levelHeadings, newBlock, showBlock } from "./block.js";
import { touchesFiles } from "./changed-files.js";
import { editDraft, leftEdit } from "./drafts.js";
import { editBox, userMessageCard, userMessageFiles } from "./user-message.js";
import { drawOutline } from "./outline.js";
import { partView } from "./parts.js";
import { openPutBack, putBackLine } from "./put-back.js";
import { stopReading } from "./read-aloud.js";
import { replyMenu, stopButton } from "./reply-menu.js";
import { isBlank, isCommand } from "./turn.js";
import { versionPager } from "./versions.js";

/** @import { Attachment, Turn, Part, Said } from "./types.js" */
/** @import { PartView } from "./parts.js" */
/** @import { FileOffer } from "./changed-files.js" */

/**
 * The actions of a turn.
 * @typedef {{decide: (id: string, decision: "approve" | "deny", terms: import("../shared/approval-card.js").Terms) => void, retry: (turn: Turn) => void,
 *   edit: (turn: Turn, text: string, files?: Attachment[]) => Promise<boolean>, sendAgain: (turn: Turn) => void,
 *   discard: (turn: Turn) => void, choose: (turn: string) => void,
 *   withdraw: (turn: Turn) => void, reclaim: (turn: Turn) => void, fork: (turn: Turn) => void, files: (turn: Turn) => FileOffer | null,
 *   isOnline: () => boolean}} TurnActions
 */

export class TurnView {
  element = make("article", { class: "turn" });
  #actions;
  #said = make("div", { class: "said" });
  #reply = make("div", { class: "reply" });
  #outline = make("div", { class: "outline-place" });
  #parts = make("div", { class: "reply-parts" });
  #foot = make("div", {});
  /** @type {HTMLElement[]} */ #blocks = [];
  /** @type {WeakMap<Part, PartView>} */ #views = new WeakMap();
  /** @type {Turn} */ #turn;
  #drawn = "";
  #footDrawn = "";
  #saidDrawn = "";
  #isEditing = false;
  #isDraftSought = false;
  #fold = { isOpen: false };
  #voice = { isOn: false, changed: () => this.#drawFoot() };
  /** @type {HTMLElement | null} */ #editButton = null;

  /** @param {Turn} turn @param {TurnActions} actions */
  constructor(turn, actions) {
    this.#turn = turn;
    this.#actions = actions;
    this.#reply.append(make("h2", { class: "visually-hidden" }, texts.turn.aethon), this.#outline, this.#parts, this.#foot);
    this.element.append(this.#said, this.#reply);
  }

  /** @param {number} index */
  block(index) {
    return this.#blocks[index];
  }

  /** @param {Turn} turn @param {number} behind the number of unfinished turns before it */
  update(turn, behind) {
    this.#turn = turn;
    const now = `${turn.sequence} ${turn.version} ${turn.state} ${behind} ${turn.said?.state} ${this.#actions.isOnline()}`;
    if (now === this.#drawn) return;
    this.#drawn = now;
    this.element.toggleAttribute("data-live", turn.state !== "done");
    if (turn.id) this.element.dataset.turn = turn.id;
    this.#drawSaid(behind);
    this.#drawReply();
    this.#openKeptEdit();
  }

  /** Whether a person or an answer is at work in it, so that it must stay on the page. */
  get isInUse() {
    if (this.#turn.state !== "done" || this.#isEditing || this.#voice.isOn) return true;
    if (this.element.contains(document.activeElement) || this.element.querySelector(".fold[open], .artefact")) return true;
    const selection = getSelection();
    return Boolean(selection && !selection.isCollapsed && selection.containsNode(this.element, true));
  }

  /** Ends what must not go on when the exchange is no longer shown. */
  close() {
    if (this.#voice.isOn) stopReading();
  }

  /** Moves the focus to the versions, whose view is another one after each choice. */
  focusVersions() {
    const group = /** @type {HTMLElement | null} */ (this.element.querySelector(".versions"));
    group?.focus({ preventScroll: true });
  }

  startEditing() {
    const box = this.#openEdit();
    if (!box) return;
    box.focus();
    const show = () => box.element.scrollIntoView({ block: "center" });
    show();
    // Again after layout: content that came into view may be higher than estimated.
    requestAnimationFrame(show);
  }

  /** Reopens an edit that the user had left unfinished, without taking the focus. */
  #openKeptEdit() {
    const { id, state } = this.#turn;
    if (this.#isDraftSought || !id || state !== "done") return;
    this.#isDraftSought = true;
    if (editDraft(id).read()) this.#openEdit();
  }

  #openEdit() {
    const { said, id } = this.#turn;
    if (!said || !id || this.#isEditing) return undefined;
    this.#isEditing = true;
    const [draft, left] = [editDraft(id), leftEdit(id)];
    const text = draft.read() || left.read() || said.text;
    draft.keep(text);
    const close = (unsent = "") => {
      const hadFocus = this.#said.contains(document.activeElement);
      draft.keep("");
      left.keep(unsent === said.text ? "" : unsent);
      this.#isEditing = false;
      this.#saidDrawn = "";
      this.#drawSaid(0);
      if (hadFocus) this.#editButton?.focus({ preventScroll: true });
    };
    const send = async (/** @type {string} */ changed, /** @type {Attachment[] | undefined} */ files) => {
      if (await this.#actions.edit(this.#turn, changed, files)) close();
    };
    const box = editBox({ text, files: said.files }, { send, cancel: () => close(), leave: () => close(draft.read()), changed: draft.keep });
    const offer = this.#actions.files(this.#turn);
    if (offer) box.element.prepend(putBackLine(offer));
    fill(this.#said, box.element);
    return box;
  }

  /** @param {number} behind */
  #drawSaid(behind) {
    const { said, state } = this.#turn;
    this.#said.hidden = !said;
    if (!said || this.#isEditing) return;
    const now = JSON.stringify([
      said.text,
      said.files.map(({ data, text }) => (data ?? text) !== undefined),
      said.state,
      said.error,
      state,
      behind,
      this.#actions.isOnline(),
    ]);
    if (now === this.#saidDrawn) return;
    this.#saidDrawn = now;
    refill(
      this.#said,
      make("h2", { class: "visually-hidden" }, texts.turn.you),
      said.files.length > 0 && userMessageFiles(said.files),
      said.text && userMessageCard(said.text, this.#fold),
      this.#saidState(said, behind),
      state !== "local" && this.#saidActions(said),
    );
  }

  /** @param {Said} said @param {number} behind */
  #saidState(said, behind) {
    const turn = this.#turn;
    if (said.state === "failed") {
      return make(
        "p",
        { class: "said-state", data: { tone: "bad" } },
        make("span", {}, `${texts.turn.notSent} `, ...sentence(said.error)),
        make("button", { type: "button", on: { click: () => this.#actions.sendAgain(turn) } }, texts.turn.sendAgain),
        make("button", { type: "button", on: { click: () => this.#actions.discard(turn) } }, texts.turn.discard),
      );
    }
    if (said.state === "sending") {
      if (said.error && this.#actions.isOnline())
        return make(
          "p",
          { class: "said-state", role: "status" },
          icon("clock"),
          make("span", {}, ...sentence(said.error), " ", texts.turn.held),
        );
      return make("p", { class: "said-state" }, this.#actions.isOnline() ? texts.turn.sending : texts.turn.waiting);
    }
    if (turn.state === "queued") {
      return make(
        "p",
        { class: "said-state" },
        behind > 0 ? texts.turn.queuedBehind(behind) : texts.turn.queued,
        make("button", { type: "button", on: { click: () => this.#actions.withdraw(turn) } }, texts.turn.withdraw),
        make(
          "button",
          { type: "button", "aria-label": forkWords.editLabel(said.text.slice(0, 80)), on: { click: () => this.#actions.reclaim(turn) } },
          forkWords.edit,
        ),
      );
    }
    return null;
  }

  /** @param {Said} said */
  #saidActions(said) {
    const canEdit = this.#turn.id && this.#turn.state === "done" && !isCommand(this.#turn);
    this.#editButton = canEdit
      ? iconButton({
          label: texts.turn.edit,
          icon: "edit",
          look: "icon-button-small",
          press: () => this.startEditing(),
        })
      : null;
    return make(
      "div",
      { class: "actions" },
      said.at && timeElement(said.at, "meta"),
      copyButton(texts.turn.copyMine, () => said.text),
      this.#editButton,
    );
  }

  #drawReply() {
    const turn = this.#turn;
    this.#reply.hidden = turn.state === "local" || turn.state === "queued";
    if (this.#reply.hidden) return;
    const { blocks, extras, source } = turn.reply;
    const isDone = turn.state === "done";
    this.#blocks.length = Math.min(this.#blocks.length, blocks.length);
    /** @type {HTMLElement[]} */
    const wanted = [];
    let next = 0;
    const partsUpTo = (/** @type {number} */ limit) => {
      for (; next < extras.length && extras[next].at <= limit; next += 1)
        wanted.push(this.#partElement(extras[next].part));
    };
    blocks.forEach((html, index) => {
      partsUpTo(index);
      this.#blocks[index] ??= newBlock();
      wanted.push(this.#blocks[index]);
      showBlock(this.#blocks[index], html, isDone || index < blocks.length - 1);
    });
    partsUpTo(Infinity);
    if (blocks.length === 0 && source) wanted.push(make("div", { class: "prose said-text", dir: "auto" }, source));
    arrange(this.#parts, wanted);
    if (isDone) {
      levelHeadings(this.#parts);
      drawOutline(this.#outline, this.#parts);
    }
    this.#drawFoot();
  }

  /** @param {Part} part */
  #partElement(part) {
    let view = this.#views.get(part);
    if (!view) {
      view = partView(part, this.#actions.decide);
      this.#views.set(part, view);
    }
    view.update();
    return view.element;
  }

  /** Draws the foot of the reply, only if its content has changed, so that it keeps the focus. */
  #drawFoot() {
    const turn = this.#turn;
    const isDone = turn.state === "done";
    const waits = turn.reply.extras.some(
      ({ part }) => (part.kind === "approval" && !part.decision) || (part.kind === "tool" && part.state === "running"),
    );
    const isThinking = !isDone && !waits;
    const now = JSON.stringify([isDone, isThinking, turn.stopReason, turn.failure, turn.model, turn.usage, turn.at, turn.versions, this.#voice.isOn]);
    if (now === this.#footDrawn) return;
    this.#footDrawn = now;
    const stopWords = turn.failure ? "" : texts.turn.stopReasons[turn.stopReason];
    refill(
      this.#foot,
      isThinking &&
        make(
          "p",
          { class: "thinking" },
          make("i"),
          make("i"),
          make("i"),
          make("span", { class: "visually-hidden" }, texts.turn.thinking),
        ),
      turn.failure &&
        note({
          title: texts.turn.failedTitle,
          text: turn.failure.message,
          tone: "bad",
          icon: "alert",
          action: this.#retryButton(),
        }),
      isDone && stopWords && (isByPerson(turn) ? badge(stopWords, "", "stop") : badge(stopWords, "warn", "alert")),
      isDone &&
        !turn.failure &&
        !stopWords &&
        isBlank(turn.reply) &&
        make("p", { class: "aside-line" }, texts.turn.empty),
      isDone && this.#replyActions(),
    );
  }

  #menu() {
    const fork = this.#turn.id ? () => this.#actions.fork(this.#turn) : null;
    const files = () => this.#actions.files(this.#turn);
    return replyMenu(() => this.#turn, () => this.#blocks, { voice: this.#voice, fork, files });
  }

  /** Has the message answered again; what tools have changed can be put back first. */
  #retry() {
    const turn = this.#turn;
    const offer = this.#actions.files(turn);
    if (offer) openPutBack(offer, () => this.#actions.retry(turn));
    else this.#actions.retry(turn);
  }

  #retryButton() {
    if (!this.#turn.id) return undefined;
    return make(
      "div",
      {},
      button({
        label: texts.error.again,
        icon: "retry",
        look: "button-small",
        press: () => this.#retry(),
      }),
    );
  }

  #replyActions() {
    const turn = this.#turn;
    const small = "icon-button-small";
    return make(
      "div",
      { class: "actions" },
      turn.reply.source && copyButton(texts.turn.copy, () => this.#turn.reply.source),
      (turn.reply.source || touchesFiles(turn)) && this.#menu(),
      this.#voice.isOn && stopButton(),
      versionPager(turn, this.#actions.choose),
      turn.id &&
        !turn.failure &&
        !isCommand(turn) &&
        iconButton({
          label: texts.turn.retry,
          icon: "retry",
          look: small,
          press: () => this.#retry(),
        }),
      turn.id &&
        turn.said &&
        !isCommand(turn) &&
        iconButton({ label: texts.turn.edit, icon: "edit", look: small, press: () => this.startEditing() }),
      meta(turn),
    );
  }
}

/** Whether a user ended it. @param {Turn} turn */
const isByPerson = ({ stopReason }) => stopReason === "stopped" || stopReason === "withdrawn";

/** Model, cost and time in one dim line. @param {Turn} turn */
function meta({ model: named, usage, at, failure, reply }) {
  // If the turn failed before the model said anything, it did not answer.
  const model = failure && !usage?.output_tokens && reply.blocks.length === 0 ? "" : named;
  // A cost of 0 means that the price is unknown.
  const cost = usage?.cost_usd ? money(usage.cost_usd) : "";
  const tokens = !usage?.output_tokens
    ? ""
    : texts.turn.tokens(compact(usage.input_tokens ?? 0), compact(usage.output_tokens));
  const line = make(
    "span",
    { class: "meta", title: tokens || undefined },
    [model, cost || tokens].filter(Boolean).join(" · "),
  );
  if (at) line.append(model || cost || tokens ? " · " : "", timeElement(at));
  return line;
}
