// What can be done with several conversations at once: archive with a way back, delete after one question, download as one file.

import { oneByOne, selection } from "../../../components/selection.js";
import { Problem } from "../../../shared/api.js";
import { at } from "../../../shared/base.js";
import { askToDelete, sayDeleted } from "../../../shared/bin.js";
import { saveFile } from "../../../shared/save-file.js";
import { toast } from "../../../shared/toast.js";
import { visibleText } from "../../../shared/visible.js";
import { selectionWords as words } from "../../../texts/selection.js";
import { pathOf, titleOf } from "../../session-actions.js";

/** @import { Session } from "../../../wire/api.js" */

/** What a toast offers. @typedef {Parameters<typeof toast>[1]} Action */

/** How many are named in the question. */
const NAMED = 3;

/** @param {import("../../context.js").Context} context @param {() => void} changed */
export function severalSessions(context, changed) {
  /** @param {{done: Session[], problem: Error | null}} outcome @param {number} asked @param {string} said @param {Action} [action] */
  const report = ({ done, problem }, asked, said, action) => {
    if (done.length > 0 && said) toast(said, action);
    if (problem) toast(words.partly(asked - done.length, problem.message));
    changed();
    return done;
  };
  const mark = (/** @type {boolean} */ archived) => (/** @type {Session} */ row) =>
    context.request(pathOf(row.session_id), { method: "PATCH", body: { archived } });
  const archive = async (/** @type {Session[]} */ rows) => {
    const outcome = await oneByOne(rows, mark(true));
    const undo = async () => {
      const back = await oneByOne(outcome.done, mark(false));
      report(back, outcome.done.length, words.sessions.unarchived(back.done.length));
    };
    const said = words.sessions.archived(outcome.done.length);
    return report(outcome, rows.length, said, { label: words.undo, press: () => void undo() });
  };
  const remove = async (/** @type {Session[]} */ rows) => {
    const names = rows.slice(0, NAMED).map((row) => visibleText(titleOf(row)));
    const what = words.sessions.named(names, rows.length - names.length);
    const how = await askToDelete({
      title: words.sessions.removeTitle(rows.length),
      what,
      noWayBack: words.sessions.removeBody(what),
    });
    if (how === "") return [];
    const query = how === "now" ? "?now=true" : "";
    const outcome = await oneByOne(rows, (row) =>
      context.request(pathOf(row.session_id) + query, { method: "DELETE" }).catch(unlessGone),
    );
    const ids = outcome.done.map((row) => row.session_id);
    if (ids.length > 0) sayDeleted(ids, how, changed);
    return report(outcome, rows.length, "");
  };
  const download = async (/** @type {Session[]} */ rows) => {
    /** @type {string[]} */ const pieces = [];
    const outcome = await oneByOne(rows, async (row) => {
      const answer = await fetch(at(`${pathOf(row.session_id)}/export?format=markdown`));
      if (!answer.ok) throw new Error(`${titleOf(row)}: ${answer.status}`);
      pieces.push((await answer.text()).trim());
    });
    if (pieces.length > 0) saveFile(words.sessions.file, new Blob([`${pieces.join("\n\n---\n\n")}\n`], { type: "text/markdown" }));
    return report(outcome, rows.length, "");
  };
  return selection({
    key: (/** @type {Session} */ row) => row.session_id,
    name: titleOf,
    actions: [
      { label: words.archive, icon: "archive", press: archive },
      { label: words.download, icon: "download", press: download },
      { label: words.remove, icon: "trash", look: "button-danger", press: remove },
    ],
  });
}

/** What is gone already counts as deleted. @param {unknown} problem */
export function unlessGone(problem) {
  if (!(problem instanceof Problem) || problem.status !== 404) throw problem;
}
