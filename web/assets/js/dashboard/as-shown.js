// Before something in a list is changed or removed: reads it, with its version, and goes on only if it is what the list shows.

import { SharedItem } from "../shared/shared-item.js";
import { toast } from "../shared/toast.js";
import { conflictWords as words } from "../texts/conflict.js";

/** @import { Path } from "../shared/api.js" */

/**
 * @template [Data=unknown]
 * @param {import("./context.js").Context} context
 * @param {{path: Path<Data>, readPath?: Path<Data>, isSame: (present: NoInfer<Data>) => boolean, changed: () => void,
 *   gone: () => void}} options
 * @returns {Promise<SharedItem<Data> | null>} null if it no longer matches the list; then the page said so, and shows the present state
 */
export async function asShown(context, { path, readPath, isSame, changed, gone }) {
  const item = new SharedItem(context.exchange, path, readPath);
  const answer = await item.peek();
  if (!answer) {
    toast(words.goneAlready);
    gone();
    return null;
  }
  item.take(answer);
  if (isSame(answer.data)) return item;
  toast(words.shownNow);
  changed();
  return null;
}
