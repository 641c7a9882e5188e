// Putting back the files that tools have changed: a dialog that names them, asks once, and tells what happened to each.

import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { fill, make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { visible } from "../shared/visible.js";
import { texts } from "../texts.js";
import { fileWords as words } from "../texts/file-changes.js";

/** @import { FilePutBack } from "../wire/api.js" */
/** @import { FileOffer } from "./changed-files.js" */

/** The outcomes after which a file is as it was before. */
const good = new Set(["restored", "removed", "already"]);

/**
 * Offers to put files back. With `then`, that is asked before something else, which follows in either case unless it is cancelled.
 * @param {FileOffer} offer @param {() => void} [then]
 */
export function openPutBack(offer, then) {
  const count = offer.names.length;
  const lead = make("p", {}, then ? words.leadFirst(count) : words.lead(count));
  const list = make("ul", { class: "file-list", role: "list" }, ...rows(offer));
  const aside = make("p", { class: "field-hint", hidden: true });
  const status = make("p", { role: "status" });
  const actions = make("div", { class: "dialog-actions" });
  const dialog = openDialog({ title: words.title, body: [lead, list, aside, status, actions] });
  const close = () => dialog.close();
  const fail = (/** @type {unknown} */ problem) => {
    status.textContent = words.failed(/** @type {Error} */ (problem).message);
  };
  const cancel = button({ label: texts.dialog.cancel, press: close });
  const leave =
    then &&
    button({
      label: words.leave,
      press: () => {
        close();
        then();
      },
    });
  const go = button({ label: then ? words.putBackFirst : words.putBack(count), look: "button-primary", press: () => void putBack() });
  fill(actions, cancel, leave, go);
  cancel.focus();
  void offer.commands().then(
    (ran) => {
      aside.textContent = words.commands(ran);
      aside.hidden = ran === 0;
    },
    () => {},
  );

  async function putBack() {
    go.disabled = true;
    try {
      const { files } = await offer.putBack();
      show(files, words.done);
      if (!then) return;
      if (!files.every(({ outcome }) => good.has(outcome))) return void fill(actions, cancel, proceed());
      close();
      toast(words.done(files.filter(({ outcome }) => outcome !== "already").length));
      then();
    } catch (problem) {
      go.disabled = false;
      fail(problem);
    }
  }

  /** What follows although not every file is as it was. */
  function proceed() {
    const next = button({
      label: words.proceed,
      look: "button-primary",
      press: () => {
        close();
        then?.();
      },
    });
    queueMicrotask(() => next.focus());
    return next;
  }

  /** @param {FilePutBack[]} files @param {(count: number) => string} told */
  function show(files, told) {
    lead.hidden = true;
    const changed = files.filter(({ outcome }) => outcome === "restored" || outcome === "removed" || outcome === "partly").length;
    fill(list, ...files.map((file) => row(file.path, outcomeOf(file))));
    status.textContent = told(changed);
    if (then) return;
    const end = button({ label: words.close, press: close });
    const again = button({ label: words.redo, look: "button-quiet", press: () => void redo() });
    fill(actions, changed > 0 && told === words.done && again, end);
    end.focus();
  }

  async function redo() {
    try {
      show((await offer.redo()).files, words.redone);
    } catch (problem) {
      fail(problem);
    }
  }
}

/** A line for the box in which a question is edited. @param {FileOffer} offer */
export function putBackLine(offer) {
  const count = offer.names.length;
  return make(
    "div",
    { class: "edit-files" },
    make("span", {}, words.changed(count)),
    button({ label: words.putBack(count), icon: "retry", look: "button-small", press: () => openPutBack(offer) }),
  );
}

/** @param {FileOffer} offer */
const rows = ({ names, others }) => [...names.map((name) => row(name, "")), ...others.map((name) => row(name, words.outcomes.changed_since))];

/** @param {string} name @param {string} about */
const row = (name, about) =>
  make(
    "li",
    {},
    make("code", { dir: "auto" }, ...visible(name)),
    about && make("span", {}, ": ", ...visible(about)),
  );

/** @param {FilePutBack} file */
function outcomeOf({ outcome, why }) {
  const about = words.outcomes[outcome];
  return why && (outcome === "failed" || outcome === "partly") ? `${about}. ${why}` : about;
}
