// The actions on a session, shared by its row and its page: the same labels, confirmations and consequences.

import { at } from "../shared/base.js";
import { askToDelete, sayDeleted } from "../shared/bin.js";
import { confirmDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { removeShared } from "../shared/remove-shared.js";
import { renameShared } from "../shared/rename-shared.js";
import { toast } from "../shared/toast.js";
import { binWords } from "../texts/bin.js";
import { conflictWords } from "../texts/conflict.js";
import { sessionWords as words } from "../texts/sessions.js";
import { runAction, failed } from "./run-action.js";
import { asShown } from "./as-shown.js";

/** @import { Context } from "./context.js" */
/** @import { MenuItem } from "../shared/menu.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Conversation, Session } from "../wire/api.js" */

/** @param {string} id @returns {Path<Session>} */
export const pathOf = (id) => `/api/sessions/${encodeURIComponent(id)}`;

/** @param {string} id @param {string} query @returns {Path<Conversation>} */
export const conversationPath = (id, query) => `${pathOf(id)}?${query}`;

/** @param {Session} session */
export const titleOf = (session) => session.title || session.session_id || words.untitled;

/** The chat's address for a session; only browser conversations have one. @param {Session} session */
export function chatHref(session) {
  const name = String(session.session_id ?? "");
  return name.startsWith("webchat:") ? at(`/#/${encodeURIComponent(name.slice("webchat:".length))}`) : "";
}

/**
 * @param {Context} context
 * @param {Session} session
 * @param {{changed: () => void, gone: () => void}} after
 * @returns {MenuItem[]}
 */
export function sessionMenu(context, session, { changed, gone }) {
  const path = pathOf(session.session_id);
  const title = titleOf(session);
  const href = chatHref(session);
  const isSame = (/** @type {Session} */ present) =>
    present.title === session.title && present.created_at === session.created_at;
  const read = (isExpected = isSame) =>
    asShown(context, { path, readPath: conversationPath(session.session_id, "limit=1"), isSame: isExpected, changed, gone }).catch((problem) => {
      failed(problem);
      return null;
    });
  /** @param {string} [value] the title to begin with, which was typed when another one had just been given */
  const rename = async (value) => {
    const item = await read(value === undefined ? isSame : () => true);
    if (!item) return;
    await runAction(
      async () => {
        const renamed = await renameShared(item, { title: words.renameTitle, label: words.renameLabel, value });
        if (!renamed) return;
        const { title: theirs, isGone, dropped } = renamed;
        if (isGone) toast(conflictWords.goneAlready);
        else if (dropped)
          toast(conflictWords.tookTitle(theirs), { label: conflictWords.putBack, press: () => void rename(dropped) });
        else toast(words.renamed);
        if (isGone) gone();
        else changed();
      },
      "",
      () => undefined,
    );
  };
  const reset = async () => {
    if (await confirmDialog({ title: words.resetTitle, text: words.resetBody(title), action: words.reset }))
      await runAction(() => context.request(`${path}/reset`, { method: "POST" }), words.wasReset, changed);
  };
  const remove = async () => {
    const name = binWords.titled(title);
    const item = await read();
    const how = item && (await askToDelete({ title: words.removeTitle, what: name }));
    if (!item || !how) return;
    const query = how === "now" ? "?now=true" : "";
    await runAction(() => removeShared(item, { name, isSame, query }), "", () => {
      sayDeleted([session.session_id], how, changed);
      gone();
    });
  };
  /** @type {(MenuItem | false | "")[]} */
  const items = [
    href && { label: words.continue, icon: "chat", press: () => location.assign(href) },
    session.busy && {
      label: words.stop,
      icon: "stop",
      press: () => void runAction(() => context.request(`${path}/stop`, { method: "POST" }), words.stopped, changed),
    },
    { label: words.rename, icon: "edit", press: () => void rename() },
    { label: words.exportMarkdown, icon: "download", press: () => download(`${path}/export?format=markdown`) },
    { label: words.exportJson, icon: "download", press: () => download(`${path}/export?format=json`) },
    { label: words.reset, icon: "retry", danger: true, press: () => void reset() },
    { label: words.remove, icon: "trash", danger: true, press: () => void remove() },
  ];
  return /** @type {MenuItem[]} */ (items.filter(Boolean));
}

/** @param {string} href */
function download(href) {
  const link = make("a", { href: at(href), download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}
