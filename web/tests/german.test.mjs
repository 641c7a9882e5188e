// How a page in German says times, amounts and schedules.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = /** @type {any} */ ({ documentElement: { lang: "de", dataset: { texts: "dashboard" } } });
const { language, locale, translated } = await import("../assets/js/shared/language.js");
const { ago, compact, duration, money } = await import("../assets/js/shared/time.js");
const { counted } = await import("../assets/js/shared/count.js");
const { cronWords } = await import("../assets/js/dashboard/cron-words.js");
const { logs } = await import("../assets/js/texts/logs.js");

const second = 1000;

test("texts are German, and English where German has none", () => {
  assert.deepEqual([language, locale], ["de", "de"]);
  assert.equal(logs.search, "Protokoll durchsuchen");
  assert.equal(translated("logs", { search: "Search the log", fresh: "New" }).fresh, "New");
  assert.deepEqual(translated("unknown", { a: ["A"] }), { a: ["A"] });
});

test("numbers and plurals", () => {
  assert.equal(counted(1234567), "1.234.567");
  assert.equal(compact(1234.5), "1.234,5");
  assert.deepEqual([logs.count(1, 1), logs.count(2, 2), logs.count(1, 1500)], ["1 Zeile", "2 Zeilen", "1 von 1.500 Zeilen"]);
});

test("times and amounts", () => {
  const now = Date.parse("2026-11-28T12:00:00Z");
  const before = (/** @type {number} */ seconds) => ago(now - seconds * second, now);
  assert.deepEqual([before(1), before(180), before(86400), ago(now + 5 * second, now)], ["gerade eben", "vor 3 Minuten", "gestern", "gleich"]);
  assert.deepEqual([500, 1500, 90 * second, 50 * 3600 * second].map(duration), ["500 ms", "1,5 s", "1 min", "2 Tage"]);
  assert.deepEqual([0, 0.00001, 0.0042, 12.5].map(money), ["0 $", "< 0,0001 $", "0,0042 $", "12,50 $"]);
});

test("schedules", () => {
  const said = {
    "*/5 * * * *": "Alle 5 Minuten",
    "0 * * * *": "Jede Stunde",
    "30 7 * * 1-5": "Mo–Fr um 07:30 Uhr",
    "0 8 * * *": "Täglich um 08:00 Uhr",
    "0 8,12 * * *": "Täglich um 08:00 und 12:00 Uhr",
    "0 9 1 * *": "Am 1. um 09:00 Uhr",
    "0 9 1,15 1 *": "Am 1. und 15. im Januar um 09:00 Uhr",
    "0 9 1 * 1": "Am 1. oder Mo um 09:00 Uhr",
    "0 9 * 3 *": "Täglich im März um 09:00 Uhr",
    "*/5 * * * 6": "Alle 5 Minuten, Sa",
    "*/5 * 1 * *": "Alle 5 Minuten am 1.",
  };
  for (const [expression, words] of Object.entries(said)) assert.equal(cronWords(expression), words, expression);
});
