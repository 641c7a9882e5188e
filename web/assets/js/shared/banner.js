// The banner that shows when the connection is lost, when it is retried, and how old the page is.

import { texts } from "../texts.js";
import { button } from "./controls.js";
import { fill, make } from "./dom.js";
import { icon } from "./icons.js";
import { ago } from "./time.js";

/**
 * The state of a connection.
 * @typedef {{phase: "connecting"} | {phase: "open"} | {phase: "waiting", until: number, away: boolean} |
 *   {phase: "refused"}} Link
 */

const patienceMs = 1200;

/**
 * @param {{retry: () => void, leave: () => void, lost?: string}} options `leave` is called when the banner disappears with the
 *   focus in it; `lost` explains what a lost connection means here
 */
export function connectionBanner({ retry, leave, lost = texts.connection.lost }) {
  const words = texts.connection;
  const text = make("span", { role: "status" });
  // Announced once and not every second: the countdown is visual only.
  const countdown = make("span", { "aria-hidden": "true" });
  const again = button({ label: words.now, look: "button-small", press: retry });
  const element = make("div", { class: "banner", hidden: true });
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  let lostAt = 0;
  /** Whether the server announced a restart. */ let isAway = false;

  /** @param {Link} link */
  const draw = (link) => {
    if (link.phase !== "waiting" && link.phase !== "refused") return;
    const isLate = Date.now() - lostAt > patienceMs;
    if (link.phase === "waiting" && !isLate) return;
    const reason = !navigator.onLine
      ? words.offline
      : link.phase === "refused"
        ? words.refused
        : isAway
          ? words.away
          : lost;
    const when = link.phase === "waiting" ? words.again(Math.ceil((link.until - Date.now()) / 1000)) : "";
    const age = Date.now() - lostAt > 60000 ? words.stale(ago(lostAt, Date.now())) : "";
    if (element.hidden) fill(element, icon("offline"), make("p", {}, text, " ", countdown), again);
    element.hidden = false;
    const rest = [when, age].filter(Boolean).join(" ");
    if (text.textContent !== reason) text.textContent = reason;
    if (countdown.textContent !== rest) countdown.textContent = rest;
  };

  const hide = () => {
    clearInterval(timer);
    lostAt = 0;
    isAway = false;
    if (element.contains(document.activeElement)) leave();
    element.hidden = true;
  };

  /** @param {Link} link */
  const show = (link) => {
    clearInterval(timer);
    if (link.phase === "open") return hide();
    lostAt ||= Date.now();
    isAway ||= link.phase === "waiting" && link.away;
    draw(link);
    timer = setInterval(() => draw(link), 500);
  };
  return { element, show, hide };
}
