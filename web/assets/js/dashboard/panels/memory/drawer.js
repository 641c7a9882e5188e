// One memory in a drawer: in full, with its source and earlier versions; editing, adding and deleting.

import { openDrawer, pairs } from "../../../components/drawer.js";
import { now } from "../../../shared/clock.js";
import { field, form, textArea, textInput } from "../../../components/form.js";
import { errorState, state } from "../../../components/state.js";
import { badge, button, skeleton } from "../../../shared/controls.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { draftOf } from "../../../shared/draft-store.js";
import { leftDraft } from "../../../shared/draft.js";
import { make } from "../../../shared/dom.js";
import { removeShared } from "../../../shared/remove-shared.js";
import { SharedItem } from "../../../shared/shared-item.js";
import { timeElement } from "../../../shared/time.js";
import { toast } from "../../../shared/toast.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { memoryWords as words } from "../../../texts/memory.js";
import { conflictWords } from "../../../texts/conflict.js";
import { shell } from "../../../texts/shell.js";
import { runAction } from "../../run-action.js";
import { lookAgain } from "../../look-again.js";
import { sharedForm } from "../../shared-form.js";

/** @import { Context } from "../../context.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { MemoryEntry, MemoryVersion } from "../../../wire/api.js" */

/** A memory; the answer to a change lacks the history. @typedef {MemoryEntry & {history?: MemoryVersion[]}} Memory */

/** @param {string} id @returns {Path<Memory>} */
const pathOf = (id) => `/api/memory/${encodeURIComponent(id)}`;
/** Where one is added. @type {Path<MemoryEntry>} */ const addPath = "/api/memory";

/** @param {Context} context @param {{changed: () => void, closed: () => void}} after */
export function memoryDrawer(context, { changed, closed }) {
  let drawer = /** @type {ReturnType<typeof openDrawer> | null} */ (null);
  let shown = "";
  /** Ends the looks at the one that is shown. */ let end = new AbortController();
  context.signal.addEventListener("abort", () => end.abort());
  const fresh = () => {
    end.abort();
    end = new AbortController();
    return end.signal;
  };
  const close = () => {
    end.abort();
    const open = drawer;
    drawer = null;
    shown = "";
    open?.close();
  };
  const begin = (/** @type {string} */ title) => {
    drawer ??= openDrawer({
      title,
      body: [skeleton(4)],
      closed: () => {
        const wasOpen = drawer !== null;
        drawer = null;
        shown = "";
        end.abort();
        if (wasOpen) closed();
      },
    });
    return drawer;
  };
  const finish = (/** @type {string} */ words_) => {
    toast(words_);
    changed();
  };

  /** @param {string | undefined} id */
  const open = async (id) => {
    if (!id) return close();
    if (shown === id) return;
    shown = id;
    if (id === "new") return add();
    const at = begin(words.one);
    try {
      const item = new SharedItem(context.exchange, pathOf(id));
      await item.read();
      if (shown !== id) return;
      if (draftOf(draftName(id))?.isOwn) editEntry(item);
      else showEntry(item);
    } catch (problem) {
      const { status, message } = /** @type {import("../../../shared/api.js").Problem} */ (problem);
      if (shown !== id) return;
      at.show({
        body: [
          status === 404
            ? state({ icon: "search", title: words.missingTitle, text: words.missing })
            : errorState({
                title: words.failed,
                text: message,
                action: button({
                  label: shell.retry,
                  press: () => {
                    shown = "";
                    void open(id);
                  },
                }),
              }),
          leftDraft(draftName(id), (part) => (part === "content" ? words.content : words.columns.category)),
        ],
      });
    }
  };

  const add = () => {
    const fields = entryFields({ content: "", category: "" });
    const send = async () => {
      const before = await context.request(addPath, {
        method: "POST",
        body: { content: fields.content.control.value, category: fields.category.control.value.trim() || undefined },
      });
      finish(now() - Date.parse(before.created_at) < 60000 ? words.added : words.known);
      if (shown === "new") drawer?.close();
    };
    begin(words.addTitle).show({
      title: words.addTitle,
      body: [
        form({
          fields,
          body: [fields.content.element, fields.category.element],
          submit: words.add,
          cancel: () => drawer?.close(),
          send,
          draft: draftName(""),
        }),
      ],
    });
    fields.content.control.focus();
  };

  const gone = () =>
    drawer?.show({
      title: words.one,
      body: [state({ icon: "trash", title: words.missingTitle, text: conflictWords.goneWhileRead })],
    });

  /** Shows an entry, and what becomes of it while it is open. @param {SharedItem<Memory>} item */
  const showEntry = (item) => {
    const entry = item.known;
    const signal = fresh();
    lookAgain(async () => {
      const answer = await item.peek();
      if (signal.aborted || (answer && !item.isOther(answer))) return;
      changed();
      if (!answer) {
        end.abort();
        return gone();
      }
      item.take(answer);
      showEntry(item);
      toast(conflictWords.shownNow);
    }, signal);
    const edit = button({ label: words.edit, icon: "edit", press: () => editEntry(item) });
    const remove = button({
      label: words.remove,
      icon: "trash",
      look: "button-danger",
      press: () => void forget(item),
    });
    const history = entry.history ?? [];
    drawer?.show({
      title: words.one,
      body: [
        make("p", { class: "memory-content" }, ...visible(entry.content)),
        pairs(
          [words.id, make("span", { class: "mono" }, entry.id)],
          [words.columns.category, badge(visibleText(entry.category))],
          ...(entry.scope
            ? [
                /** @type {[string, Node]} */ ([
                  words.scope,
                  badge(words.scopes[entry.scope] ?? visibleText(entry.scope)),
                ]),
              ]
            : []),
          [words.source, words.sources[entry.source] ?? visibleText(String(entry.source ?? ""))],
          [words.created, timeElement(entry.created_at)],
          [words.updated, timeElement(entry.updated_at)],
          [words.recalled, entry.last_recalled_at ? timeElement(entry.last_recalled_at) : words.never],
        ),
        make("div", { class: "dialog-actions" }, edit, remove),
        ...(history.length > 0
          ? [
              make(
                "section",
                {},
                make("h3", { class: "section-title" }, words.history),
                make("ol", { class: "memory-history", role: "list" }, ...history.map(version)),
              ),
            ]
          : []),
      ],
    });
  };

  /** @param {SharedItem<Memory>} item */
  const editEntry = (item) => {
    const signal = fresh();
    const { id } = item.known;
    const fields = entryFields(item.known);
    // Not over another one that was opened meanwhile.
    const leave = async () => {
      await readAgain(item);
      if (shown === id && !signal.aborted) showEntry(item);
    };
    const written = () => ({ content: fields.content.control.value, category: fields.category.control.value.trim() });
    const write = (/** @type {ReturnType<typeof written>} */ { content, category }) => {
      fields.content.control.value = content;
      fields.category.control.value = category;
    };
    const read = (/** @type {Memory} */ { content, category }) => ({
      content: String(content ?? ""),
      category: String(category ?? ""),
    });
    const shared = sharedForm({
      item,
      name: words.thisOne,
      signal,
      written,
      write,
      read,
      asText: words.asText,
      gone: () => {
        changed();
        gone();
      },
    });
    const send = async () => {
      const body = { content: written().content, category: written().category || undefined };
      const { outcome, data } = await shared.save({ method: "PUT", body }, () =>
        context.request(addPath, { method: "POST", body }),
      );
      if (outcome !== "saved") return false;
      finish(words.saved);
      // An entry that was deleted elsewhere is saved as another one.
      if (data.id === id) await leave();
      else if (shown === id) context.go([data.id]);
      return true;
    };
    drawer?.show({
      title: words.editTitle,
      body: [
        form({
          fields,
          body: [fields.content.element, fields.category.element, shared.notice],
          submit: shell.save,
          cancel: () => void leave(),
          send,
          draft: draftName(id),
        }),
      ],
    });
    fields.content.control.focus();
  };

  /** With its history, which the answer to a change lacks; what cannot be read stays as it was. @param {SharedItem<Memory>} item */
  const readAgain = (item) => item.read().catch(() => undefined);

  /** @param {SharedItem<Memory>} item */
  const forget = async (item) => {
    if (!(await confirmDialog({ title: words.removeTitle, text: words.removeBody, action: words.remove }))) return;
    const { id, content, category } = item.known;
    const isSame = (/** @type {Memory} */ present) => present.content === content && present.category === category;
    await runAction(
      () => removeShared(item, { name: words.thisOne, isSame }),
      words.removed,
      () => {
        changed();
        if (shown === id) drawer?.close();
      },
    );
  };
  return { open: (/** @type {string | undefined} */ id) => void open(id), close };
}

/** What the draft of an entry is called. @param {string} id */
const draftName = (id) => `memory:${id}`;

/** @param {{content: string, category: string}} entry */
function entryFields(entry) {
  return {
    content: field({
      label: words.content,
      control: textArea({ value: entry.content, rows: 5, maxlength: 8000 }),
      hint: words.contentHint,
    }),
    category: field({
      label: words.columns.category,
      control: textInput({ value: entry.category, maxlength: 64, placeholder: "general" }),
      hint: words.categoryHint,
    }),
  };
}

/** @param {MemoryVersion} old */
function version(old) {
  return make(
    "li",
    {},
    make("p", {}, ...visible(old.content)),
    make("p", { class: "field-hint" }, ...visible(words.replaced(old.category)), " ", timeElement(old.replaced_at)),
  );
}
