// Chart arithmetic: round steps for an axis, and points for a line.

/**
 * Round values from 0 to just above `most`, at most `count` steps.
 * @param {number} most @param {number} [count] @returns {number[]}
 */
export function ticks(most, count = 4) {
  if (!(most > 0)) return [0, 1];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough - power * 1e-9) ?? rough;
  const steps = Math.ceil(most / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/**
 * Values as points in a box, the last one at its right edge.
 * @param {number[]} values @param {number} width @param {number} height @returns {[number, number][]}
 */
export function points(values, width, height) {
  const most = Math.max(...values, 0) || 1;
  const step = values.length > 1 ? width / (values.length - 1) : width;
  return values.map((value, index) => [round(index * step), round(height - (value / most) * height)]);
}

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;

/** Chooses which labels to show, evenly spaced and always with the last. @param {number} count @param {number} most @returns {number[]} */
export function labelled(count, most) {
  const step = Math.max(1, Math.ceil(count / Math.max(1, most)));
  return Array.from({ length: count }, (_, index) => index).filter((index) => (count - 1 - index) % step === 0);
}
