// The words for schedules.

import { translated } from "../shared/language.js";

const list = new Intl.ListFormat("en", { style: "long", type: "conjunction" });
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const endings = /** @type {Record<string, string>} */ ({ one: "st", two: "nd", few: "rd", other: "th" });

export const cronWords = translated("cron", {
  weekdays: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
  months: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
  list: (/** @type {string[]} */ parts) => list.format(parts),
  range: (/** @type {string} */ from, /** @type {string} */ to) => `${from}–${to}`,
  day: (/** @type {number} */ day) => `${day}${endings[ordinals.select(day)]}`,
  at: (/** @type {string} */ times) => `at ${times}`,
  everyMinute: "Every minute",
  everyMinutes: (/** @type {number} */ step) => `Every ${step} minutes`,
  everyHour: "Every hour",
  everyHourAt: (/** @type {number} */ minute) => `Every hour at :${String(minute).padStart(2, "0")}`,
  everyHours: (/** @type {number} */ step, /** @type {string} */ minute) => `Every ${step} hours at ${minute}`,
  /** @param {{time: string, days: string, months: string, weekdays: string, isOften: boolean}} parts */
  sentence: ({ time, days, months, weekdays, isOften }) => {
    const on = [days && `the ${days}`, weekdays].filter(Boolean).join(" or ");
    const when = [on, months && `in ${months}`].filter(Boolean).join(" ");
    if (isOften) return [time, days || weekdays ? `on ${when}` : when].filter(Boolean).join(" ");
    if (!on) return [months ? `Daily in ${months}` : "Daily", time].join(" ");
    return [days ? `On ${when}` : when, time].join(" ");
  },
});
