// Cron expressions as a person says them: "Mon–Fri at 03:30". What has no short sentence stays an expression; a wrong sentence would be
// worse than none.

import { cronWords as words } from "../texts/cron.js";

/** @type {Record<string, string>} */
const NICKNAMES = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/** More times a day than these are not listed. */
const TIMES = 4;

/**
 * The numbers of a field in order, or null for a field that cannot be read.
 * @param {string} text @param {number} first @param {number} last @param {string[]} [names] the first name means `first`
 */
function numbersOf(text, first, last, names = []) {
  const numberOf = (/** @type {string} */ word) => {
    const named = names.indexOf(word.toLowerCase());
    if (named >= 0) return named + first;
    return /^\d{1,2}$/.test(word) ? Number(word) : NaN;
  };
  const isWeekday = names === DAYS;
  /** @type {Set<number>} */ const all = new Set();
  for (const part of text.split(",")) {
    const [range, step = "1", ...rest] = part.split("/");
    const [from, to, ...more] = range === "*" ? [String(first)] : range.split("-");
    // A star and a step from one number go on to the end, in weekdays to Saturday.
    const isOpen = range === "*" || (to === undefined && part.includes("/"));
    let start = numberOf(from);
    let end = to !== undefined ? numberOf(to) : isOpen ? Math.min(last, isWeekday ? 6 : last) : start;
    if (isWeekday && to !== undefined) [start, end] = weekdayRange(start, end, !/^\d+$/.test(from), !/^\d+$/.test(to));
    const by = /^\d+$/.test(step) ? Number(step) : NaN;
    if (rest.length > 0 || more.length > 0 || !(start >= first && end <= last && start <= end && by >= 1)) return null;
    for (let number = start; number <= end; number += by) all.add(number);
  }
  return [...all].sort((one, other) => one - other);
}

/**
 * A range of weekdays may end with Sunday; one from Sunday to Sunday is that day alone, except `0-7`.
 * @param {number} start @param {number} end @param {boolean} startIsName @param {boolean} endIsName @returns {[number, number]}
 */
function weekdayRange(start, end, startIsName, endIsName) {
  if (start % 7 === 0 && end % 7 === 0 && (startIsName || endIsName || start === end)) return [0, 0];
  return [start, end === 0 && endIsName ? 7 : end];
}

/** `*` or `*` with a step of one: all of them. @param {number[]} numbers @param {number} count */
const isEvery = (numbers, count) => numbers.length === count;

/** The step of a field that is evenly spread over all of its range from its first number. @param {number[]} numbers @param {number} count */
function stepOf(numbers, count) {
  const step = numbers.length > 1 ? numbers[1] - numbers[0] : 0;
  const isEven = step > 1 && numbers[0] === 0 && count % step === 0 && numbers.length === count / step;
  return isEven && numbers.every((number, at) => number === at * step) ? step : 0;
}

/**
 * Numbers as names, three or more neighbours as a range.
 * @param {number[]} numbers @param {(number: number) => string} name
 */
function ranges(numbers, name) {
  const parts = [];
  for (let at = 0; at < numbers.length; ) {
    let end = at;
    while (numbers[end + 1] === numbers[end] + 1) end += 1;
    if (end - at >= 2) parts.push(words.range(name(numbers[at]), name(numbers[end])));
    else for (let one = at; one <= end; one += 1) parts.push(name(numbers[one]));
    at = end + 1;
  }
  return words.list(parts);
}

/** @param {number[]} minutes @param {number[]} hours */
function timeWords(minutes, hours) {
  const everyHour = isEvery(hours, 24);
  if (isEvery(minutes, 60)) return everyHour ? words.everyMinute : "";
  const minuteStep = everyHour ? stepOf(minutes, 60) : 0;
  if (minuteStep) return words.everyMinutes(minuteStep);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  if (everyHour && minutes.length === 1) return minutes[0] === 0 ? words.everyHour : words.everyHourAt(minutes[0]);
  const hourStep = stepOf(hours, 24);
  if (hourStep && hours.length > TIMES && minutes.length === 1) return words.everyHours(hourStep, `:${two(minutes[0])}`);
  if (minutes.length * hours.length > TIMES) return "";
  return words.at(words.list(hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`))));
}

/** The weekdays, Monday first. @param {number[]} weekdays */
function weekdayWords(weekdays) {
  const days = [...new Set(weekdays.map((day) => day % 7 || 7))].sort((one, other) => one - other);
  return ranges(days, (day) => words.weekdays[day - 1]);
}

/** An expression in words; the expression where it has none. @param {string} expression */
export function cronWords(expression) {
  const text = expression.trim();
  const fields = (NICKNAMES[text.toLowerCase()] ?? text).split(/\s+/);
  if (fields.length !== 5) return expression;
  const minutes = numbersOf(fields[0], 0, 59);
  const hours = numbersOf(fields[1], 0, 23);
  const days = numbersOf(fields[2], 1, 31);
  const months = numbersOf(fields[3], 1, 12, MONTHS);
  const weekdays = numbersOf(fields[4], 0, 7, DAYS);
  if (!minutes || !hours || !days || !months || !weekdays) return expression;
  const time = timeWords(minutes, hours);
  if (!time) return expression;
  const anyDay = isEvery(days, 31);
  const anyWeekday = new Set(weekdays.map((day) => day % 7)).size === 7;
  // If both are restricted, either suffices; a field that begins with * does not restrict in that sense, and has no short sentence.
  if (!anyDay && !anyWeekday && (fields[2].startsWith("*") || fields[4].startsWith("*"))) return expression;
  // A field that restricts nothing but has no * makes the other one moot.
  const isEither = !fields[2].startsWith("*") && !fields[4].startsWith("*");
  if (isEither && (anyDay !== anyWeekday)) return expression;
  const dayWords = anyDay ? "" : ranges(days, words.day);
  const monthWords = isEvery(months, 12) ? "" : ranges(months, (month) => words.months[month - 1]);
  const weekWords = anyWeekday ? "" : weekdayWords(weekdays);
  const isOften = isEvery(hours, 24) || (stepOf(hours, 24) > 0 && hours.length > TIMES);
  return words.sentence({ time, days: dayWords, months: monthWords, weekdays: weekWords, isOften });
}
