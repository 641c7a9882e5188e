// A form for something that others may change while it is edited here: it says so as soon as that is known, asks what counts
// when it is saved, and keeps the typed text in every case.

import { compared } from "../components/compared.js";
import { button, note } from "../shared/controls.js";
import { askWhatCounts, changedWhen } from "../shared/conflict.js";
import { fill, make } from "../shared/dom.js";
import { conflictWords as words } from "../texts/conflict.js";
import { lookAgain } from "./look-again.js";

/** @import { SharedItem, Change, Outcome } from "../shared/shared-item.js" */

/**
 * @template {object} [Data=object]
 * @template [Written=unknown]
 * @param {{item: SharedItem<Data>, name: string, signal: AbortSignal, written: () => Written, write: (text: Written) => void,
 *   read: (value: Data) => Written, asText: (text: Written) => string, isGone?: (present: Data) => boolean, gone: () => void,
 *   changedAt?: () => Promise<string>}} options
 *   `written` is what the fields say and `write` fills them; `read` takes the same out of an answer; `gone` is called when the
 *   user lets go of what was deleted; `changedAt` finds out when it was changed, if what stands there does not say
 */
export function sharedForm({
  item,
  name,
  signal,
  written,
  write,
  read,
  asText,
  isGone = () => false,
  gone,
  changedAt,
}) {
  const notice = make("div", { class: "conflict-notice", role: "status" });
  const end = new AbortController();
  signal.addEventListener("abort", () => end.abort());
  const text = (/** @type {Data} */ value) => asText(read(value));
  let base = text(item.known);
  /** Whether it was deleted, and is saved as something new. */ let isNew = false;

  /** What stands there now with the time of its change, if that is known; null if it was deleted. @param {Data | null} present */
  const dated = async (present) => {
    if (!present || isGone(present)) return null;
    const at = await changedAt?.().catch(() => "");
    return at ? { ...present, updated_at: at } : present;
  };
  const ask = async (/** @type {Data | null} */ present) => {
    const there = await dated(present);
    const mine = written();
    const show = there ? () => compared({ base, theirs: text(there), mine: asText(mine) }) : undefined;
    const choice = await askWhatCounts({ name, present: there, show });
    if (choice === "theirs" && there) {
      write(read(there));
      base = text(there);
      const back = button({
        label: words.putBack,
        look: "button-small",
        press: () => {
          write(mine);
          fill(notice);
        },
      });
      fill(notice, note({ text: words.took, icon: "info", action: make("div", {}, back) }));
    } else if (choice === "theirs") gone();
    else if (choice === "mine") fill(notice);
    if (choice === "mine" && there) base = text(there);
    if (choice === "mine" && !there) isNew = true;
    return choice;
  };
  const isSame = (/** @type {Data} */ present) => !isGone(present) && [base, asText(written())].includes(text(present));

  /**
   * Reports the outcome, with a way to look at it before saving.
   * @param {import("../shared/shared-item.js").Answer<Data> | null} answer
   */
  const say = async (answer) => {
    const present = await dated(answer?.data ?? null);
    const look = button({
      label: words.look,
      look: "button-small",
      press: async () => {
        const choice = await ask(answer?.data ?? null);
        if (answer && choice !== "stay") item.take(answer);
      },
    });
    fill(
      notice,
      note({
        text: present ? words.noted(changedWhen(present)) : words.notedGone,
        tone: "warn",
        icon: present ? "alert" : "trash",
        action: make("div", {}, look),
      }),
    );
  };
  let seen = "";
  lookAgain(async () => {
    if (!notice.isConnected) return end.abort();
    const answer = await item.peek();
    const now = answer && !isGone(answer.data) ? answer.etag || text(answer.data) : "gone";
    if (now === seen || isNew) return;
    seen = now;
    if (answer && !item.isOther(answer)) return;
    if (!answer || !isSame(answer.data)) await say(answer);
    if (!answer) end.abort();
  }, end.signal);

  /**
   * Saves it.
   * @template [Again=unknown]
   * @param {Change} change @param {() => Promise<Again>} again saves it as something new, if it was deleted elsewhere
   * @returns {Promise<Outcome<Data> | {outcome: "saved", data: Again}>}
   */
  const save = async (change, again) => {
    const sent = isNew
      ? { outcome: /** @type {const} */ ("mine"), data: null }
      : await item.send(change, { isSame, ask });
    if (sent.outcome === "mine") return { outcome: "saved", data: await again() };
    if (sent.outcome === "saved") end.abort();
    return sent;
  };
  return { notice, save };
}
