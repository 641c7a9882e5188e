// Carries out an action, and reports success or failure in a toast.

import { toast } from "../shared/toast.js";
import { shell } from "../texts/shell.js";

/**
 * @param {() => Promise<unknown>} action false as its result: the user has decided otherwise, and nothing happens
 * @param {string | (() => string)} done the text of the toast afterwards; no toast if empty
 * @param {() => void} then called on success
 */
export async function runAction(action, done, then) {
  try {
    if ((await action()) === false) return;
  } catch (problem) {
    failed(problem);
    return;
  }
  const said = typeof done === "string" ? done : done();
  if (said) toast(said);
  then();
}

/** Reports why an action failed. @param {unknown} problem */
export const failed = (problem) =>
  toast(shell.actionFailed(problem instanceof Error ? problem.message : String(problem)));
