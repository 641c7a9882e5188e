// Times and amounts in words: relative, in the reader's zone and language, with the exact time on hover.

import { texts } from "../texts.js";
import { make } from "./dom.js";

const steps = /** @type {const} */ ([["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]]);
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** @param {string | number} when @param {number} [now] */
export function ago(when, now = Date.now()) {
  const seconds = Math.round((new Date(when).getTime() - now) / 1000);
  if (!Number.isFinite(seconds)) return "";
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return seconds > 0 ? texts.time.soon : texts.time.now;
}

/** @param {string | number} when */
export function exactly(when) {
  const date = new Date(when);
  return Number.isNaN(date.getTime()) ? "" : exact.format(date);
}

/** A time element. @param {string} when @param {string} [className] */
export function timeElement(when, className = "") {
  return make("time", { datetime: when, title: exactly(when), class: className || undefined, data: { ago: "" } }, ago(when));
}

/** Lets the times on the page grow old, once a minute while somebody can see it. */
export function keepTimes() {
  const tick = () => {
    if (document.hidden) return;
    for (const element of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[data-ago]"))) {
      const words = ago(element.dateTime);
      if (element.textContent !== words) element.textContent = words;
    }
  };
  setInterval(tick, 60000);
  document.addEventListener("visibilitychange", tick);
}

/** Seconds as `1:05`. @param {number} seconds */
export function countdown(seconds) {
  const left = Math.max(0, Math.round(seconds));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

/** Milliseconds as a person would say them. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** US dollars, precise enough that a cheap turn is not shown as nothing. @param {number} usd */
export function money(usd) {
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "< $0.0001";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}

/** @param {number} n */
export function compact(n) {
  return new Intl.NumberFormat("en", { notation: n >= 10000 ? "compact" : "standard", maximumFractionDigits: 1 }).format(n);
}
