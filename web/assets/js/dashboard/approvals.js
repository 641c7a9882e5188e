// The pending approvals of all conversations. Each card is created once, so that it can be read and pressed while the list around
// it changes.

import { Problem, request } from "../shared/api.js";
import { approvalCard } from "../shared/approval-card.js";
import { arrange, make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { watchLasting } from "../shared/unsaved.js";
import { texts } from "../texts.js";
import { asking } from "../texts/asking.js";
import { approvalsPath } from "./approvals-path.js";
import { loaded } from "./cards.js";

/** @import { Asked } from "../shared/approval-card.js" */
/** @import { Store } from "./store.js" */
/** @import { Approval } from "../wire/api.js" */
/** @import { ApprovalNews } from "../wire/frames.js" */

/** How long a card stays after its question was decided elsewhere, so that it does not vanish under the eyes of its reader. */
const stayMs = 8000;

/** @typedef {ReturnType<typeof approvalCard> & {asked: Asked, isMine: boolean, leavesAt: number}} Held */
/** @type {Map<string, Held>} */
const cards = new Map();
const hasTyped = () => [...cards.values()].some((card) => card.hasTyped());

/** Whether there are cards of decided questions that are still to be seen. */
export const hasKept = () => [...cards.values()].some(isToBeSeen);

/** @param {Held} card */
const isToBeSeen = (card) => card.isKept() || (card.leavesAt > 0 && Date.now() < card.leavesAt);

/** Lets a card go that was decided here, or long enough ago elsewhere. @param {Store} store @param {string} id @param {Held} card */
function leave(store, id, card) {
  if (!card.isMine && !card.asked.sending && card.leavesAt === 0) {
    card.leavesAt = Date.now() + stayMs;
    setTimeout(() => {
      // The answer is the same as before, and the view is not.
      store.forget(approvalsPath);
      void store.load(approvalsPath);
    }, stayMs + 50);
  }
  if (!isToBeSeen(card)) cards.delete(id);
}

/** The questions whose cards are here. */
export const keptQuestions = () => [...cards.keys()];

/** Shows on a card that its question was decided, here or elsewhere. @param {ApprovalNews} data */
export function noteDecision(data) {
  const card = cards.get(data.id);
  if (data.state !== "done" || !card || card.asked.decision) return;
  Object.assign(card.asked, { decision: data.decision, reason: data.reason, edited: data.edited !== undefined });
  card.update();
}

/** @param {Store} store @param {HTMLElement} list the element for the cards */
export function approvalList(store, list) {
  return loaded(store, approvalsPath, texts.dashboard.approvalsFailed, ({ approvals = [] }) => {
    const open = new Set(approvals.map((approval) => approval.id));
    for (const [id, card] of cards) {
      if (open.has(id)) continue;
      // No event said how it was decided.
      if (!card.asked.decision && !card.asked.sending)
        Object.assign(card.asked, { decision: "deny", reason: "elsewhere" });
      card.update();
      leave(store, id, card);
    }
    const kept = [...cards].filter(([id]) => !open.has(id)).map(([, card]) => card.element);
    // The one that ends first stands first.
    const ends = (/** @type {Approval} */ approval) => Date.parse(approval.expires_at ?? "") || Infinity;
    const sorted = [...approvals].sort((one, other) => ends(one) - ends(other) || 0);
    const shown = [...kept, ...sorted.map((approval) => cardFor(store, approval).element)];
    const hadFocus = list.contains(document.activeElement);
    if (shown.length > 0) arrange(list, shown);
    else if (!list.querySelector(":scope > .quiet"))
      arrange(list, [make("p", { class: "quiet" }, texts.approval.none)]);
    list.tabIndex = -1;
    // The decided card is gone; the next question has the focus, so that several are answered one after the other.
    const next = /** @type {HTMLElement | null} */ (list.querySelector(".approval:not(.approval-settled)"));
    if (hadFocus && !list.contains(document.activeElement)) (next ?? list).focus({ preventScroll: true });
    return list;
  });
}

/** @param {Store} store @param {Approval} approval */
function cardFor(store, approval) {
  const known = cards.get(approval.id);
  if (known) return known;
  const name = String(approval.session_id ?? "").replace(/^webchat:/, "");
  /** @type {Asked} */
  const asked = {
    ...approval,
    decision: null,
    reason: null,
    why: approval.reason,
    sending: false,
    origin: name && texts.approval.session(name),
  };
  const card = approvalCard(asked, async (decision, terms) => {
    Object.assign(asked, { sending: true, fault: "" });
    card.update();
    try {
      await request(`${approvalsPath}/${encodeURIComponent(approval.id)}`, {
        method: "POST",
        body: { decision, ...terms },
      });
      held.isMine = true;
      Object.assign(asked, { decision, reason: "user", edited: terms.input !== undefined });
    } catch (problem) {
      Object.assign(asked, { sending: false, fault: terms.input ? /** @type {Error} */ (problem).message : "" });
      toast(`${texts.approval.failed} ${/** @type {Error} */ (problem).message}`);
    }
    card.update();
    setTimeout(() => void store.load(approvalsPath), 1500);
  });
  card.element.addEventListener("putaway", () => void store.load(approvalsPath));
  const held = { ...card, asked, isMine: false, leavesAt: 0 };
  cards.set(approval.id, held);
  watchLasting(hasTyped);
  return held;
}

/**
 * Denies all questions that wait.
 * @param {Store} store @param {{id: string}[]} approvals
 */
export async function denyAll(store, approvals) {
  let denied = 0;
  let fault = "";
  for (const { id } of approvals) {
    const card = cards.get(id);
    if (card) card.isMine = true;
    try {
      await request(`${approvalsPath}/${encodeURIComponent(id)}`, { method: "POST", body: { decision: "deny" } });
      denied += 1;
    } catch (problem) {
      if (card) card.isMine = false;
      // One that was decided meanwhile needs no answer any more.
      if (!(problem instanceof Problem && problem.status === 404)) fault = /** @type {Error} */ (problem).message;
    }
  }
  toast(fault ? `${texts.approval.failed} ${fault}` : asking.deniedAll(denied));
  void store.load(approvalsPath);
}
