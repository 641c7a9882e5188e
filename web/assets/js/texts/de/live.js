// Lists that grow while one reads them, in German.

import { counted } from "./count.js";

/** @type {typeof import("../live.js").live} */
export const live = {
  pause: "Anhalten",
  goOn: "Weiter",
  paused: "Angehalten. Neue Einträge warten.",
  newRows: (n) => (n === 1 ? "1 neuer Eintrag" : `${counted(n)} neue Einträge`),
};
