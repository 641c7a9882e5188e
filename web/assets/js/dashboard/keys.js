// The keys of the dashboard: Ctrl+K or / for the palette, `g` and a letter for a panel.

import { isTyping } from "../shared/typing.js";
import { jumps } from "./jumps.js";

/** @param {{search: () => void}} actions */
export function listenForKeys({ search }) {
  let goesAt = 0;
  addEventListener("keydown", (event) => {
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      search();
      return;
    }
    if (hasModifier || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      event.preventDefault();
      search();
      return;
    }
    const panel = Date.now() - goesAt < 1500 ? jumps[event.key] : undefined;
    goesAt = event.key === "g" ? Date.now() : 0;
    if (panel) location.hash = `#/${panel}`;
  });
}
