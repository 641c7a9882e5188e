// The pending approvals of all conversations. Each card is created once, so that it can be read and pressed while the list around
// it changes.

import { request } from "../shared/api.js";
import { approvalCard } from "../shared/approval-card.js";
import { arrange, make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { watchLasting } from "../shared/unsaved.js";
import { texts } from "../texts.js";
import { approvalsPath } from "./approvals-path.js";
import { loaded } from "./cards.js";

/** @import { Store } from "./store.js" */
/** @import { Approval } from "../wire/api.js" */

/** @type {Map<string, ReturnType<typeof approvalCard> & {asked: any}>} */
const cards = new Map();
const hasTyped = () => [...cards.values()].some((card) => card.hasTyped());

/** Whether there are cards of decided questions with what the user typed. */
export const hasKept = () => [...cards.values()].some((card) => card.isKept());

/** The questions whose cards are here. */
export const keptQuestions = () => [...cards.keys()];

/** Shows on a card that its question was decided, here or elsewhere. @param {any} data of the event */
export function noteDecision(data) {
  const card = data?.state === "done" ? cards.get(data.id) : undefined;
  if (!card || card.asked.decision) return;
  Object.assign(card.asked, { decision: data.decision, reason: data.reason, edited: data.edited !== undefined });
  card.update();
}

/** @param {Store} store @param {HTMLElement} list the element for the cards */
export function approvalList(store, list) {
  return loaded(store, approvalsPath, texts.dashboard.approvalsFailed, ({ approvals = [] }) => {
    const open = new Set(approvals.map((/** @type {Approval} */ approval) => approval.id));
    for (const [id, card] of cards) {
      if (open.has(id)) continue;
      // No event said how it was decided.
      if (!card.asked.decision && !card.asked.sending)
        Object.assign(card.asked, { decision: "deny", reason: "elsewhere" });
      card.update();
      if (!card.isKept()) cards.delete(id);
    }
    const kept = [...cards].filter(([id]) => !open.has(id)).map(([, card]) => card.element);
    const shown = [...kept, ...approvals.map((/** @type {Approval} */ approval) => cardFor(store, approval).element)];
    const hadFocus = list.contains(document.activeElement);
    if (shown.length > 0) arrange(list, shown);
    else if (!list.querySelector(":scope > .quiet"))
      arrange(list, [make("p", { class: "quiet" }, texts.approval.none)]);
    list.tabIndex = -1;
    // The decided card is gone; keeps the focus among the pending ones.
    if (hadFocus && !list.contains(document.activeElement)) list.focus({ preventScroll: true });
    return list;
  });
}

/** @param {Store} store @param {Approval} approval */
function cardFor(store, approval) {
  const known = cards.get(approval.id);
  if (known) return known;
  const name = String(approval.session_id ?? "").replace(/^webchat:/, "");
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
      Object.assign(asked, { decision, reason: "user", edited: terms.input !== undefined });
    } catch (problem) {
      Object.assign(asked, { sending: false, fault: terms.input ? /** @type {Error} */ (problem).message : "" });
      toast(`${texts.approval.failed} ${/** @type {Error} */ (problem).message}`);
    }
    card.update();
    setTimeout(() => void store.load(approvalsPath), 1500);
  });
  card.element.addEventListener("putaway", () => void store.load(approvalsPath));
  const held = { ...card, asked };
  cards.set(approval.id, held);
  watchLasting(hasTyped);
  return held;
}
