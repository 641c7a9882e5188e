// News of conversations that are not in view: a reply is ready, or a question waits. They appear as a short message with a
// link, and, if the person has asked for it, as a notification of the system while the page is in the background.

import { isPushed, subscribe, unsubscribe } from "../shared/push.js";
import { phoneWords } from "../texts/phone.js";
import { at } from "../shared/base.js";
import { iconButton } from "../shared/controls.js";
import { recall, remember } from "../shared/storage.js";
import { toast } from "../shared/toast.js";
import { visibleText } from "../shared/visible.js";
import { newsWords as words } from "../texts/news.js";
import { hrefOf } from "./route.js";

/** @import { SessionFrame } from "../wire/frames.js" */
/** @import { SessionNews } from "./types.js" */
/**
 * @typedef {{busy?: boolean, waiting?: number, unread?: boolean, updated_at?: string}} Before
 */

const wishKey = "aethon.notify";
const ownChannel = "webchat:";

/**
 * What a change of a conversation means to a person who does not look at it. Pure.
 * @param {Before | undefined} before @param {SessionNews} now
 * @returns {"waits" | "answered" | null}
 */
export function newsOf(before, now) {
  if ("removed" in now) return null;
  if (now.waiting > (before?.waiting ?? 0)) return "waits";
  // Answers in other channels are read there. Without a state before, nothing tells what has changed.
  if (!before || !now.session_id.startsWith(ownChannel)) return null;
  const isNew = !before.unread || before.busy;
  return now.unread && !now.busy && isNew ? "answered" : null;
}

/** Where a conversation is opened; those of other channels are decided on in the dashboard. @param {string} id */
const addressOf = (id) => (id.startsWith(ownChannel) ? hrefOf(id.slice(ownChannel.length)) : at("/dashboard#/approvals"));

/**
 * Tells of a conversation that is not in view.
 * @param {SessionFrame} session @param {string} title @param {"waits" | "answered"} kind
 */
export function tell(session, title, kind) {
  const address = addressOf(session.session_id);
  const text = words[kind](visibleText(title));
  toast(text, {
    label: kind === "waits" ? words.decide : words.open,
    press: () => {
      location.href = address;
    },
  });
}

/**
 * Tells through the system, if the person wished for it and the page is in the background.
 * @param {SessionFrame} session @param {string} title @param {"waits" | "answered"} kind
 */
export function notify(session, title, kind) {
  // A device that the server notifies would show everything twice.
  if (!document.hidden || !isWished() || isPushed()) return;
  try {
    const shown = new Notification(words[kind](visibleText(title)), { tag: session.session_id });
    shown.onclick = () => {
      window.focus();
      location.href = addressOf(session.session_id);
      shown.close();
    };
  } catch {
    // Some phones show notifications only from a service worker. The mark in the title remains.
  }
}

const isWished = () => "Notification" in window && Notification.permission === "granted" && recall(wishKey) === "on";

/** The button that asks for notifications, and turns them off. Nothing is asked for before it is pressed. */
export function notifySwitch() {
  const control = iconButton({ label: words.notify, icon: "bell", press: () => void press() });
  const draw = () => control.setAttribute("aria-pressed", String(isWished()));
  const press = async () => {
    const turnsOn = !isWished();
    const isAllowed = turnsOn && (await Notification.requestPermission()) === "granted";
    remember(wishKey, isAllowed ? "on" : "off");
    draw();
    const isSent = isAllowed ? await subscribe().catch(() => false) : (await unsubscribe().catch(() => null), false);
    const on = isSent ? phoneWords.pushOn : words.notifyOn;
    toast(isAllowed ? on : turnsOn ? words.notifyBlocked : words.notifyOff);
  };
  control.hidden = !("Notification" in window);
  draw();
  return control;
}
