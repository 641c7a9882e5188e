// Schedules in words: every form that the scheduler accepts, and the expression itself where a sentence would be long or wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cronWords } from "../assets/js/dashboard/cron-words.js";

test("common schedules are said as a person says them", () => {
  for (const [expression, said] of [
    ["30 3 * * 1-5", "Mon–Fri at 03:30"],
    ["0 8 * * *", "Daily at 08:00"],
    ["0 8,20 * * *", "Daily at 08:00 and 20:00"],
    ["0,30 8 * * *", "Daily at 08:00 and 08:30"],
    ["0 18 * * 0", "Sun at 18:00"],
    ["0 18 * * 7", "Sun at 18:00"],
    ["0 9 * * 5-7", "Fri–Sun at 09:00"],
    ["0 9 * * sat-sun", "Sat and Sun at 09:00"],
    ["0 9 * * sun-sun", "Sun at 09:00"],
    ["0 9 * * 0-sun", "Sun at 09:00"],
    ["0 9 * * 0-7", "Daily at 09:00"],
    ["0 9 * * 1/2", "Mon, Wed, and Fri at 09:00"],
    ["0 9 * * 0,6", "Sat and Sun at 09:00"],
    ["0 9 * * mon,WED,fri", "Mon, Wed, and Fri at 09:00"],
    ["0 9 * * mon-fri", "Mon–Fri at 09:00"],
    ["0 9 1 * *", "On the 1st at 09:00"],
    ["0 9 1,15 * *", "On the 1st and 15th at 09:00"],
    ["0 9 1-7 * *", "On the 1st–7th at 09:00"],
    ["0 9 22,23 1 *", "On the 22nd and 23rd in Jan at 09:00"],
    ["0 9 1 jan,jul *", "On the 1st in Jan and Jul at 09:00"],
    ["0 9 * jun-aug *", "Daily in Jun–Aug at 09:00"],
    ["0 9 13 * 5", "On the 13th or Fri at 09:00"],
    ["* * * * *", "Every minute"],
    ["*/15 * * * *", "Every 15 minutes"],
    ["0 * * * *", "Every hour"],
    ["5 * * * *", "Every hour at :05"],
    ["0 */2 * * *", "Every 2 hours at :00"],
    ["0 */12 * * *", "Daily at 00:00 and 12:00"],
    ["*/30 8 * * *", "Daily at 08:00 and 08:30"],
    ["*/30 * * * 1-5", "Every 30 minutes on Mon–Fri"],
    ["0 * * dec *", "Every hour in Dec"],
    ["@hourly", "Every hour"],
    ["@daily", "Daily at 00:00"],
    ["@midnight", "Daily at 00:00"],
    ["@weekly", "Sun at 00:00"],
    ["@Monthly", "On the 1st at 00:00"],
    ["@yearly", "On the 1st in Jan at 00:00"],
    ["@annually", "On the 1st in Jan at 00:00"],
    ["  0  8 * *  * ", "Daily at 08:00"],
  ])
    assert.equal(cronWords(expression), said, expression);
});

test("what has no short and true sentence stays as it was written", () => {
  for (const expression of [
    "*/7 * * * *",
    "0 8-18 * * *",
    "* 8 * * *",
    "*/10 8 * * *",
    "0 9 */2 * 1",
    "0 9 1-31 * 1",
    "0 9 13 * 0-6",
    "61 * * * *",
    "0 9 * *",
    "0 9 * * 8",
    "5-1 * * * *",
    "*/0 * * * *",
    "1-2-3 * * * *",
    "0 9 * * day",
    "@reboot",
    "",
    "<b>",
  ])
    assert.equal(cronWords(expression), expression);
});
