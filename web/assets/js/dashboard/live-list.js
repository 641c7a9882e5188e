// A table that receives rows while it is being read. New rows are inserted only while the reader is at the top; otherwise a
// button shows how many there are. The reader can also pause it.

import { button } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { table } from "../components/table.js";
import { live as words } from "../texts/live.js";

/**
 * @template [Row=unknown]
 * @param {Parameters<typeof table<Row>>[0] & {signal: AbortSignal}} options
 */
export function liveList({ signal, ...options }) {
  const view = table(options);
  const scroll = /** @type {HTMLElement} */ (view.element.querySelector(".table-scroll"));
  let waiting = /** @type {Row[] | null} */ (null);
  let isPaused = false;
  const fresh = button({ label: "", icon: "retry", look: "button-small live-fresh", press: () => release(true) });
  fresh.hidden = true;
  const pause = button({ label: words.pause, icon: "pause", press: () => setPaused(!isPaused) });
  pause.setAttribute("aria-pressed", "false");
  const said = make("span", { class: "visually-hidden", role: "status" });
  const element = make("div", { class: "live-list" }, said, fresh, view.element);

  const isAway = () => scroll.scrollTop > 30 || (!view.isBoxed() && scrollY > 160);
  const release = (/** @type {boolean} */ goesUp = false) => {
    if (goesUp) {
      scroll.scrollTop = 0;
      if (scrollY > 0) scrollTo(0, 0);
      if (document.activeElement === fresh) scroll.focus({ preventScroll: true });
    }
    fresh.hidden = true;
    if (waiting) view.show(waiting);
    waiting = null;
  };
  const setPaused = (/** @type {boolean} */ pauses) => {
    isPaused = pauses;
    pause.setAttribute("aria-pressed", String(isPaused));
    fill(pause, icon(isPaused ? "play" : "pause"), make("span", {}, isPaused ? words.goOn : words.pause));
    said.textContent = isPaused ? words.paused : "";
    if (!isPaused) release();
  };
  const settle = () => !isPaused && waiting && !isAway() && release();
  scroll.addEventListener("scroll", settle, { passive: true });
  addEventListener("scroll", settle, { passive: true, signal });

  return {
    element,
    pause,
    isPaused: () => isPaused,
    /** Shows these rows at once, because the reader changed the query. @param {Row[]} rows */
    show: (rows) => {
      waiting = null;
      fresh.hidden = true;
      view.show(rows);
    },
    /** Shows these rows when that does not disturb the reader. @param {Row[]} rows */
    offer: (rows) => {
      if (!isPaused && !isAway()) {
        waiting = null;
        fresh.hidden = true;
        view.show(rows);
        return;
      }
      waiting = rows;
      const known = new Set(view.rows().map(options.key));
      const count = rows.filter((row) => !known.has(options.key(row))).length;
      const label = words.newRows(count);
      fresh.hidden = count === 0;
      if (fresh.textContent !== label) fill(fresh, icon("down", "turned"), make("span", {}, label));
    },
  };
}
