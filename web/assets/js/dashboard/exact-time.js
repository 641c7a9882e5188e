// Exact times for logs and the like: with milliseconds, in the viewer's time zone, and with the date unless it is today.

import { make } from "../shared/dom.js";
import { language, locale } from "../shared/language.js";
import { once } from "../shared/once.js";
import { exactly } from "../shared/time.js";

const clock = once(
  () =>
    new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      fractionalSecondDigits: 3,
    }),
);
const day = once(() => new Intl.DateTimeFormat(language === "en" ? "en-GB" : locale, { day: "numeric", month: "short" }));

/** @param {string | number} when @param {Date} [now] @returns {string} */
export function clockTime(when, now = new Date()) {
  const date = new Date(when);
  if (Number.isNaN(date.getTime())) return "";
  const time = clock().format(date);
  return date.toDateString() === now.toDateString() ? time : `${day().format(date)} ${time.slice(0, 8)}`;
}

/** The milliseconds are a separate element, which a narrow page can hide. @param {string} when */
export function exactTime(when) {
  const [time, thousandths] = clockTime(when).split(".");
  return make(
    "time",
    { datetime: when, title: exactly(when), class: "exact-time" },
    time,
    thousandths && make("span", { class: "exact-rest" }, `.${thousandths}`),
  );
}
