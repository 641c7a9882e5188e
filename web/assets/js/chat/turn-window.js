// Which exchanges of a long conversation are drawn: those near the view. The others are gaps of their height. Pure.

/** Up to this many exchanges are always drawn, so that the browser's own search finds everything in a short conversation. */
const alwaysDrawn = 40;
/** What comes nearer than this many heights of the view is drawn, and what is farther away than `far` is released. */
const near = 1.5;
const far = 3;

/**
 * @typedef {{heights: number[], gap: number, top: number, height: number}} Layout the heights of all exchanges, the gap between two,
 *   and the view: where it begins, from the beginning of the first exchange on, and its height
 */

/**
 * @param {Layout} layout
 * @param {(index: number) => boolean} isDrawn
 * @param {(index: number) => boolean} isKept whether an exchange stays, however far away it is
 * @returns {boolean[]} whether each exchange is to be drawn
 */
export function chooseDrawn({ heights, gap, top, height }, isDrawn, isKept) {
  if (heights.length <= alwaysDrawn) return heights.map(() => true);
  let begin = 0;
  return heights.map((own, index) => {
    const [from, to] = [begin, begin + own];
    begin = to + gap;
    const away = Math.max(top - to, from - top - height, 0) / Math.max(height, 1);
    return away <= near || (isDrawn(index) && (away <= far || isKept(index)));
  });
}

/**
 * The exchange at a height of the column, and which part of it is above that.
 * @param {Pick<Layout, "heights" | "gap">} layout @param {number} top
 */
export function exchangeAt({ heights, gap }, top) {
  let begin = 0;
  for (let index = 0; index < heights.length; index += 1) {
    if (top < begin + heights[index] + gap || index === heights.length - 1)
      return { index, part: Math.min(1, Math.max(0, top - begin) / Math.max(heights[index], 1)) };
    begin += heights[index] + gap;
  }
  return { index: -1, part: 0 };
}

/** Where an exchange begins. @param {Pick<Layout, "heights" | "gap">} layout @param {number} index */
export function beginOf({ heights, gap }, index) {
  let begin = 0;
  for (let before = 0; before < index; before += 1) begin += heights[before] + gap;
  return begin;
}
