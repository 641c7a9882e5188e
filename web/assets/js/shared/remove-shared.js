// Removes something that others may have changed since it was shown here: then it is asked once more. What is gone already counts
// as removed.

import { conflictWords as words } from "../texts/conflict.js";
import { askWhatCounts } from "./conflict.js";

/** @import { SharedItem } from "./shared-item.js" */

/**
 * @template {object} [Data=object]
 * @param {SharedItem<Data>} item @param {{name: string, isSame: (present: Data) => boolean, query?: string}} options `isSame`:
 *   whether what stands there is what the user saw
 * @returns {Promise<boolean>} whether it is gone
 */
export async function removeShared(item, { name, isSame, query = "" }) {
  const ask = async (/** @type {Data | null} */ present) => {
    if (!present) return /** @type {const} */ ("theirs");
    return askWhatCounts({
      name,
      present,
      text: words.removeText(name),
      mine: words.removeAnyway,
      theirs: words.keepIt,
      stay: "",
    });
  };
  const { outcome, data } = await item.send({ method: "DELETE", query }, { isSame, ask });
  return outcome === "saved" || !data;
}
