// A text area on coloured lines with numbers, in which faults stand at their lines. The text area is the control; the lines lie behind
// it, letter on letter, and are for the eye only.

import { fill, make } from "../../../shared/dom.js";
import { paintedLines, sameEnds } from "./lines.js";

/** @typedef {{line: number, message: string}} Place */

/** Texts beyond this are plain: colours are worth less than letters that appear at once. */
const LONGEST = 200000;

/** @param {HTMLTextAreaElement} control */
export function painted(control) {
  const paper = make("pre", { class: "sop-paint", "aria-hidden": "true", dir: "auto" });
  const sheet = make("div", { class: "sop-sheet" }, paper, control);
  const element = make("div", { class: "sop-scroll" }, sheet);
  /** What is drawn, a key for each line. @type {string[]} */ let drawn = [];
  /** @type {Map<number, {says: string, look: string}>} */ let marks = new Map();

  const draw = () => {
    const isPlain = control.value.length > LONGEST;
    element.classList.toggle("is-plain", isPlain);
    const lines = isPlain ? [] : control.value.split("\n");
    const pieces = paintedLines(lines);
    const keys = pieces.map((line, index) => {
      const mark = marks.get(index + 1);
      return JSON.stringify([line.map(({ text, kind }) => [kind, text]), mark?.look, mark?.says]);
    });
    const { head, tail } = sameEnds(drawn, keys);
    const rows = [...paper.children];
    for (const row of rows.slice(head, rows.length - tail)) row.remove();
    const before = paper.children[head] ?? null;
    for (let index = head; index < keys.length - tail; index += 1) {
      const mark = marks.get(index + 1);
      const row = make("div", { data: mark ? { look: mark.look, says: mark.says } : {} });
      fill(row, ...pieces[index].map(({ text, kind }) => (kind ? make("span", { class: `paint-${kind}` }, text) : text)));
      // An empty line has the height of one.
      if (row.textContent === "") row.append("​");
      paper.insertBefore(row, before);
    }
    drawn = keys;
  };
  control.addEventListener("input", draw);
  draw();
  return {
    element,
    /** Shows faults and remarks at their lines. @param {Place[]} faults @param {Place[]} remarks */
    mark: (faults, remarks) => {
      marks = new Map();
      for (const [places, look] of /** @type {[Place[], string][]} */ ([[remarks, "remark"], [faults, "fault"]]))
        for (const { line, message } of places) {
          const there = marks.get(line);
          marks.set(line, { says: there?.look === look ? `${there.says}; ${message}` : message, look });
        }
      draw();
    },
    /** Selects a line and brings it into view. @param {number} line */
    goTo: (line) => {
      const lines = control.value.split("\n");
      const from = lines.slice(0, Math.max(0, line - 1)).join("\n").length + (line > 1 ? 1 : 0);
      control.focus({ preventScroll: true });
      control.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
      const row = /** @type {HTMLElement | undefined} */ (paper.children[line - 1]);
      if (row) element.scrollTop = row.offsetTop - element.clientHeight / 3;
      element.scrollIntoView({ block: "nearest" });
    },
  };
}
