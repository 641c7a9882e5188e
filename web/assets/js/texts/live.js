// The words of lists that grow while one reads them.

import { translated } from "../shared/language.js";

export const live = translated("live", {
  pause: "Pause",
  goOn: "Go on",
  paused: "Paused. New entries wait.",
  newRows: (/** @type {number} */ n) => (n === 1 ? "1 new entry" : `${n.toLocaleString("en")} new entries`),
});
