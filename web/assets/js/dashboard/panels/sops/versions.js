// The earlier versions of an SOP, each to view, to compare with the present text, and to restore.

import { codeBox, diffView } from "../../../components/code.js";
import { openDrawer } from "../../../components/drawer.js";
import { errorState, state } from "../../../components/state.js";
import { button, skeleton } from "../../../shared/controls.js";
import { askWhatCounts } from "../../../shared/conflict.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { exactly, timeElement } from "../../../shared/time.js";
import { toast } from "../../../shared/toast.js";
import { shell } from "../../../texts/shell.js";
import { sopWords as words } from "../../../texts/sops.js";
import { failed } from "../../run-action.js";

/** @import { Context } from "../../context.js" */
/** @import { SharedItem } from "../../../shared/shared-item.js" */
/** @typedef {{replaced_at: string, content: string}} Version */

/** @param {Context} context @param {SharedItem} item the SOP, read @param {() => void} changed */
export function sopVersions(context, item, changed) {
  const element = make("div", {}, skeleton(4));
  const { name } = item.value;
  const load = async () => {
    try {
      const { versions = [] } = await context.request(`/api/sops/${encodeURIComponent(name)}/versions`);
      if (context.signal.aborted) return;
      const rows = versions.map((/** @type {Version} */ version) => row(version, { item, context, changed }));
      fill(
        element,
        rows.length > 0
          ? make("ol", { class: "sop-versions", role: "list" }, ...rows)
          : state({ icon: "clock", title: words.noVersionsTitle, text: words.noVersions }),
      );
    } catch (problem) {
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void load() });
      if (!context.signal.aborted)
        fill(
          element,
          errorState({ title: words.versionsFailed, text: /** @type {Error} */ (problem).message, action: again }),
        );
    }
  };
  void load();
  return element;
}

/** @typedef {{item: SharedItem, context: Context, changed: () => void}} Of */

/** @param {Version} version @param {Of} of */
function row(version, { item, context, changed }) {
  const when = exactly(version.replaced_at);
  const now = () => String(item.value.content ?? "");
  const open = (/** @type {Node} */ body) =>
    openDrawer({ title: words.versionTitle(when), body: [body], closed: () => {} });
  const versionButton = (/** @type {string} */ label, /** @type {() => void} */ press) => {
    const element = button({ label, look: "button-small", press });
    element.setAttribute("aria-label", `${label}: ${words.versionTitle(when)}`);
    return element;
  };
  return make(
    "li",
    {},
    make(
      "div",
      { class: "sop-version-when" },
      make("span", {}, `${words.versionUntil} ${when}`),
      make(
        "span",
        { class: "field-hint" },
        timeElement(version.replaced_at),
        ` · ${words.versionLines(version.content.split("\n").length)}`,
      ),
    ),
    versionButton(words.versionView, () => open(codeBox(version.content, words.versionTitle(when)))),
    versionButton(words.versionDiff, () => open(diffView(version.content, now(), words.versionDiff))),
    versionButton(words.versionRestore, () => void restore(version, { item, context, changed })),
  );
}

/** @param {Version} version @param {Of} of */
async function restore(version, { item, context, changed }) {
  const { name, content } = item.value;
  const { restoreTitle: title, restoreText: text, versionRestore: action } = words;
  if (!(await confirmDialog({ title, text, action, isSafe: true }))) return;
  const ask = (/** @type {any} */ present) =>
    askWhatCounts({
      name,
      present,
      show: present && (() => [diffView(String(present.content ?? ""), version.content)]),
      mine: words.versionRestore,
    });
  const change = { method: "PUT", body: { content: version.content } };
  try {
    const { outcome, data } = await item.send(change, { isSame: (present) => present.content === content, ask });
    if (outcome === "mine" && !data)
      item.take(
        await context.exchange(`/api/sops/${encodeURIComponent(name)}`, {
          ...change,
          headers: { "If-None-Match": "*" },
        }),
      );
    if (outcome === "saved" || outcome === "mine") toast(words.restored);
  } catch (problem) {
    failed(problem);
  }
  // Shows what counts now, whichever that is.
  changed();
}
