// Follows the address. If that would throw away unsaved text, the address goes back to where it was until the user has decided;
// entries are numbered, so that it is clear whether a link or the Back button led away.

import { hasUnsaved, mayDiscard } from "../shared/unsaved.js";

/** The number of the current entry of the history. @returns {number | undefined} */
const numbered = () => history.state?.place;

/** @param {number} place */
const number = (place) => history.replaceState({ ...history.state, place }, "");

/** @param {() => void} follow shows what the address names */
export function followAddress(follow) {
  let here = numbered() ?? 0;
  /** The way to the entry that was asked for, once the address is back where it was. @type {number} */ let awaited = 0;
  number(here);
  const turned = async () => {
    if (numbered() === undefined) number(here + 1);
    const step = (numbered() ?? here) - here;
    here += step;
    if (awaited !== 0) {
      const back = awaited;
      awaited = 0;
      if (await mayDiscard()) history.go(back);
      return;
    }
    if (step === 0 || !hasUnsaved()) return follow();
    awaited = step;
    history.go(-step);
  };
  addEventListener("hashchange", () => void turned());
}
