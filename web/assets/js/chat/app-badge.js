// How many other conversations have something unread, where a person sees it without the page: in the title of the window, and as
// the number on the icon of the installed app. Browsers without such a number, and pages that are not installed, ignore it.

import { texts } from "../texts.js";
import { newsWords } from "../texts/news.js";

let shown = 0;

/** @param {string} name the title of the page @param {number} unread */
export function showUnread(name, unread) {
  const marked = unread > 0 ? newsWords.titleCount(unread, name) : name;
  document.title = `${marked} · ${texts.product}`;
  if (unread === shown) return;
  shown = unread;
  /** @type {Navigator & {setAppBadge?: (count: number) => Promise<void>, clearAppBadge?: () => Promise<void>}} */ const app = navigator;
  const done = unread > 0 ? app.setAppBadge?.(unread) : app.clearAppBadge?.();
  // A browser may refuse it, and then there is no number.
  done?.catch?.(() => {});
}
