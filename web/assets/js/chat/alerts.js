// Alerts in a reply (`> [!WARNING]`): each kind has a picture beside its title, so that colour does not say it alone.

import { icon } from "../shared/icons.js";

/** @type {Record<string, string>} */
const pictures = { note: "info", tip: "spark", important: "bell", warning: "alert", caution: "shield" };

/** @param {Element} block */
export function dressAlerts(block) {
  for (const alert of block.querySelectorAll(".alert")) {
    const kind = /\balert-(note|tip|important|warning|caution)\b/.exec(alert.className)?.[1] ?? "note";
    alert.setAttribute("role", "note");
    alert.querySelector(":scope > .alert-title")?.prepend(icon(pictures[kind]));
  }
}
