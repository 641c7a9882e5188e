// The line above the composer that says when the connection is lost, when it tries again, and how old the page is.

import { button } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { ago } from "../shared/time.js";
import { texts } from "../texts.js";

/** @import { Link } from "./socket.js" */

const patienceMs = 1200;

/** @param {() => void} retry @param {() => void} leave called when the banner goes with the focus in it */
export function connectionBanner(retry, leave) {
  const words = texts.connection;
  const text = make("p", {});
  const again = button({ label: words.now, look: "button-small", press: retry });
  const element = make("div", { class: "banner", role: "status", hidden: true });
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  let lostAt = 0;

  /** @param {Link} link */
  const draw = (link) => {
    if (link.phase !== "waiting" && link.phase !== "refused") return;
    const isLate = Date.now() - lostAt > patienceMs;
    if (link.phase === "waiting" && !isLate) return;
    const reason = !navigator.onLine ? words.offline : link.phase === "refused" ? words.refused : link.away ? words.away : words.lost;
    const when = link.phase === "waiting" ? words.again(Math.ceil((link.until - Date.now()) / 1000)) : "";
    const age = Date.now() - lostAt > 60000 ? words.stale(ago(lostAt)) : "";
    const sentence = [reason, when, age].filter(Boolean).join(" ");
    if (element.hidden) fill(element, icon("offline"), text, again);
    element.hidden = false;
    if (text.textContent !== sentence) text.textContent = sentence;
  };

  /** @param {Link} link */
  const show = (link) => {
    clearInterval(timer);
    if (link.phase === "open") {
      lostAt = 0;
      if (element.contains(document.activeElement)) leave();
      element.hidden = true;
      return;
    }
    lostAt ||= Date.now();
    draw(link);
    timer = setInterval(() => draw(link), 500);
  };
  return { element, show };
}
