// Formats times and amounts: relative, in the viewer's time zone and language, with the exact time on hover.

import { texts } from "../texts.js";
import { now as serverNow } from "./clock.js";
import { fixed, isShort } from "./count.js";
import { make } from "./dom.js";
import { language, locale } from "./language.js";
import { once } from "./once.js";
import { pause } from "./pause.js";

const steps = /** @type {const} */ ([
  ["year", 31536000],
  ["month", 2592000],
  ["week", 604800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
]);
// Creating a formatter takes a phone as long as drawing a panel, so each is created on first use.
const relative = once(() => new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "long" }));
const exact = once(() => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }));
const short = once(() => new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 }));
const whole = once(() => new Intl.NumberFormat(language, { maximumFractionDigits: 1 }));
/** Creates the formatters, one at a time, while the page waits for its first answers. */
export async function prepareFormats() {
  for (const create of [relative, exact, whole, short]) {
    await pause();
    create();
  }
}

/** The elements without an exact time yet; null once the formatter exists. @type {HTMLTimeElement[] | null} */
let untitled = [];

/** @param {string | number} when @param {number} [now] */
export function ago(when, now = serverNow()) {
  const seconds = Math.round((new Date(when).getTime() - now) / 1000);
  if (!Number.isFinite(seconds)) return "";
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return seconds > 0 ? texts.time.soon : texts.time.now;
}

/** @param {string | number} when */
export function exactly(when) {
  const date = new Date(when);
  return Number.isNaN(date.getTime()) ? "" : exact().format(date);
}

/** A time element. @param {string} when @param {string} [className] */
export function timeElement(when, className = "") {
  const element = make("time", { datetime: when, class: className || undefined, data: { ago: "" } }, ago(when));
  // The exact time shows on hover, which cannot happen before the page is painted.
  if (!untitled) element.title = exactly(when);
  else if (untitled.push(element) === 1) setTimeout(nameTimes, 50);
  return element;
}

function nameTimes() {
  for (const element of untitled ?? []) element.title = exactly(element.dateTime);
  untitled = null;
}

/** Updates the relative times once a minute while the page is visible. */
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

/** Milliseconds as a readable duration. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${fixed(seconds, seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return texts.amount.days(Math.floor(hours / 24));
}

/** US dollars, precise enough that a cheap turn is not shown as zero. @param {number} usd */
export function money(usd) {
  if (usd === 0) return texts.amount.dollars("0");
  if (usd < 0.0001) return texts.amount.lessDollars(fixed(0.0001, 4));
  return texts.amount.dollars(fixed(usd, usd < 0.1 ? 4 : 2));
}

/** @param {number} n */
export function compact(n) {
  if (isShort(n)) return String(n);
  return (n >= 10000 ? short() : whole()).format(n);
}
