// Asks for a new title of something that others may rename as well, and gives it that.

import { conflictWords as words } from "../texts/conflict.js";
import { askWhatCounts } from "./conflict.js";
import { promptDialog } from "./prompt.js";

/** @import { SharedItem } from "./shared-item.js" */
/** @typedef {{title: string}} Titled */

/**
 * @template {Titled} [Data=Titled]
 * @param {SharedItem<Data>} item read, with its title @param {{title: string, label: string, value?: string}} asked
 * @returns {Promise<{title: string, isGone: boolean, dropped: string} | null>} its title afterwards, and the one that was typed if
 *   another counts; null if nothing was done
 */
export async function renameShared(item, { title: heading, label, value = item.known.title }) {
  let wanted = value;
  for (;;) {
    const typed = await promptDialog({ title: heading, label, value: wanted });
    if (typed === null || typed === item.known.title) return null;
    wanted = typed;
    const before = item.known.title;
    const isSame = (/** @type {Data} */ present) => present.title === before || present.title === typed;
    const ask = async (/** @type {Data | null} */ present) =>
      present
        ? askWhatCounts({ name: before, present, text: words.renamed(present.title, typed) })
        : /** @type {const} */ ("theirs");
    const { outcome, data } = await item.send({ method: "PATCH", body: { title: typed } }, { isSame, ask });
    if (outcome === "saved") return { title: typed, isGone: false, dropped: "" };
    if (outcome !== "stay") return { title: data?.title ?? "", isGone: !data, dropped: typed };
  }
}
