// The line diff of two texts, with or without long unchanged stretches.

/** @typedef {{kind: "same" | "add" | "del", text: string}} Line */
/** @typedef {Line | {kind: "skip", count: number}} Shown */

/** The limit of compared line pairs; a larger middle is shown as removed and added. */
const MOST = 4_000_000;

/** @param {string} before @param {string} after @returns {Line[]} */
export function lineDiff(before, after) {
  const [old, young] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < young.length && old[head] === young[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < young.length - head && old.at(-1 - tail) === young.at(-1 - tail)) tail += 1;
  const same = (/** @type {string} */ text) => /** @type {Line} */ ({ kind: "same", text });
  const middle = changes(old.slice(head, old.length - tail), young.slice(head, young.length - tail));
  return [...old.slice(0, head).map(same), ...middle, ...old.slice(old.length - tail).map(same)];
}

/** The longest common subsequence of lines. @param {string[]} old @param {string[]} young @returns {Line[]} */
function changes(old, young) {
  const gone = old.map((text) => /** @type {Line} */ ({ kind: "del", text }));
  const come = young.map((text) => /** @type {Line} */ ({ kind: "add", text }));
  if (old.length === 0 || young.length === 0 || old.length * young.length > MOST) return [...gone, ...come];
  const width = young.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = young.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      longest[at] =
        old[row] === young[column] ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1]);
    }
  }
  /** @type {Line[]} */ const lines = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < young.length) {
    const at = row * width + column;
    if (old[row] === young[column]) {
      lines.push({ kind: "same", text: old[row] });
      row += 1;
      column += 1;
    } else if (longest[at + width] >= longest[at + 1]) lines.push(gone[row++]);
    else lines.push(come[column++]);
  }
  return [...lines, ...gone.slice(row), ...come.slice(column)];
}

/** Shortens a diff to this many unchanged lines around each change. @param {Line[]} lines @param {number} [around] @returns {Shown[]} */
export function shortened(lines, around = 3) {
  const near = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.kind !== "same")
      for (let at = Math.max(0, index - around); at <= Math.min(lines.length - 1, index + around); at += 1)
        near[at] = true;
  });
  /** @type {Shown[]} */ const shown = [];
  for (let index = 0; index < lines.length; index += 1) {
    if (near[index]) {
      shown.push(lines[index]);
      continue;
    }
    const from = index;
    while (index + 1 < lines.length && !near[index + 1]) index += 1;
    shown.push({ kind: "skip", count: index - from + 1 });
  }
  return shown;
}
