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
import { versionsPath } from "./versions-path.js";

/** @import { Context } from "../../context.js" */
/** @import { SharedItem } from "../../../shared/shared-item.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Sop, SopVersion as Version } from "../../../wire/api.js" */

/** @param {Context} context @param {SharedItem<Sop>} item the SOP, read @param {() => void} changed */
export function sopVersions(context, item, changed) {
  const element = make("div", {}, skeleton(4));
  const { name } = item.known;
  const load = async () => {
    try {
      const { versions = [] } = await context.request(versionsPath(name));
      if (context.signal.aborted) return;
      const rows = versions.map((version) => row(version, { item, context, changed }));
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

/** @typedef {{item: SharedItem<Sop>, context: Context, changed: () => void}} Of */

/** @param {Version} version @param {Of} of */
function row(version, { item, context, changed }) {
  const when = exactly(version.replaced_at);
  const now = () => String(item.known.content ?? "");
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

/** @param {string} name @returns {Path<Sop>} */
const pathOf = (name) => `/api/sops/${encodeURIComponent(name)}`;

/** @param {Version} version @param {Of} of */
async function restore(version, { item, context, changed }) {
  const { name, content } = item.known;
  const { restoreTitle: title, restoreText: text, versionRestore: action } = words;
  if (!(await confirmDialog({ title, text, action, isSafe: true }))) return;
  const ask = (/** @type {Sop | null} */ present) =>
    askWhatCounts({
      name,
      present,
      show: present ? (() => [diffView(String(present.content ?? ""), version.content)]) : undefined,
      mine: words.versionRestore,
    });
  const change = { method: "PUT", body: { content: version.content } };
  try {
    const { outcome, data } = await item.send(change, { isSame: (present) => present.content === content, ask });
    if (outcome === "mine" && !data)
      item.take(await context.exchange(pathOf(name), { ...change, headers: { "If-None-Match": "*" } }));
    if (outcome === "saved" || outcome === "mine") toast(words.restored);
  } catch (problem) {
    failed(problem);
  }
  // Shows what counts now, whichever that is.
  changed();
}
