// Schedules in German.

const list = new Intl.ListFormat("de", { style: "long", type: "conjunction" });

/** @type {typeof import("../cron.js").cronWords} */
export const cronWords = {
  weekdays: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
  months: ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
  list: (parts) => list.format(parts),
  range: (from, to) => `${from}–${to}`,
  day: (day) => `${day}.`,
  at: (times) => `um ${times} Uhr`,
  everyMinute: "Jede Minute",
  everyMinutes: (step) => `Alle ${step} Minuten`,
  everyHour: "Jede Stunde",
  everyHourAt: (minute) => `Jede Stunde um :${String(minute).padStart(2, "0")}`,
  everyHours: (step, minute) => `Alle ${step} Stunden um ${minute}`,
  sentence: ({ time, days, months, weekdays, isOften }) => {
    const on = [days && `am ${days}`, weekdays].filter(Boolean).join(" oder ");
    const when = [on, months && `im ${months}`].filter(Boolean).join(" ");
    if (isOften) return [time, when].filter(Boolean).join(weekdays && !days ? ", " : " ");
    if (!on) return [months ? `Täglich im ${months}` : "Täglich", time].join(" ");
    return [days ? `A${when.slice(1)}` : when, time].join(" ");
  },
};
