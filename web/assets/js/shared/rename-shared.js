// Asks for a new title of something that others may rename as well, and gives it that.

import { conflictWords as words } from "../texts/conflict.js";
import { askWhatCounts } from "./conflict.js";
import { promptDialog } from "./prompt.js";

/** @import { SharedItem } from "./shared-item.js" */

/**
 * @param {SharedItem} item read, with its title @param {{title: string, label: string, value?: string}} asked
 * @returns {Promise<{title: string, isGone: boolean, dropped: string} | null>} its title afterwards, and the one that was typed if
 *   another counts; null if nothing was done
 */
export async function renameShared(item, { title: heading, label, value = item.value.title ?? "" }) {
  let wanted = value;
  for (;;) {
    const typed = await promptDialog({ title: heading, label, value: wanted });
    if (typed === null || typed === item.value.title) return null;
    wanted = typed;
    const before = item.value.title;
    const isSame = (/** @type {any} */ present) => present.title === before || present.title === typed;
    const ask = async (/** @type {any} */ present) =>
      present
        ? askWhatCounts({ name: before, present, text: words.renamed(present.title, typed) })
        : /** @type {const} */ ("theirs");
    const { outcome, data } = await item.send({ method: "PATCH", body: { title: typed } }, { isSame, ask });
    if (outcome === "saved") return { title: typed, isGone: false, dropped: "" };
    if (outcome !== "stay") return { title: data?.title ?? "", isGone: !data, dropped: typed };
  }
}
