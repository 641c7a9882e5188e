// A press that changes something: a toast says that it is done, or why it is not.

import { toast } from "../shared/toast.js";
import { shell } from "../texts/shell.js";

/**
 * @param {() => Promise<any>} action
 * @param {string | (() => string)} done what the toast says afterwards; nothing when that is empty
 * @param {() => void} then what follows once it is done
 */
export async function act(action, done, then) {
  try {
    await action();
  } catch (problem) {
    failed(problem);
    return;
  }
  const said = typeof done === "string" ? done : done();
  if (said) toast(said);
  then();
}

/** Says why something could not be done. @param {unknown} problem */
export const failed = (problem) => toast(shell.actionFailed(problem instanceof Error ? problem.message : String(problem)));
