// The theme: light, dark, or the system's. Stored in this browser; early/theme.js applies it before the first paint.

import { recall, remember } from "./storage.js";

/** @typedef {"system" | "light" | "dark"} Theme */

const key = "aethon.theme";

/** @returns {Theme} */
export function rememberedTheme() {
  const theme = recall(key);
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** @param {Theme} theme */
export function setTheme(theme) {
  remember(key, theme === "system" ? null : theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  // The browser's own bar follows: the colour of the chosen theme counts always, the other never.
  for (const meta of /** @type {NodeListOf<HTMLMetaElement>} */ (document.querySelectorAll('meta[name="theme-color"]'))) {
    const own = `(prefers-color-scheme: ${meta.dataset.for})`;
    meta.media = theme === "system" ? own : meta.dataset.for === theme ? "all" : "not all";
  }
}
