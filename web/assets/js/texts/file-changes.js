// The words for files that tools have changed, and that are put back.

import { translated } from "../shared/language.js";

const files = (/** @type {number} */ n) => (n === 1 ? "1 file" : `${n} files`);

export const fileWords = translated("file-changes", {
  title: "Put files back",
  putBack: (/** @type {number} */ n) => `Put back ${files(n)}`,
  changed: (/** @type {number} */ n) => `This answer and later ones have changed ${files(n)}.`,
  lead: (/** @type {number} */ n) =>
    `This answer and later ones have changed ${files(n)}. ${n === 1 ? "It becomes what it was" : "They become what they were"} before; what somebody has changed since stays.`,
  leadFirst: (/** @type {number} */ n) =>
    `The answer that is replaced, and later ones, have changed ${files(n)}. Shall ${n === 1 ? "it" : "they"} be put back first?`,
  putBackFirst: "Put back and answer again",
  leave: "Leave the files",
  proceed: "Answer again",
  close: "Close",
  redo: "Undo",
  done: (/** @type {number} */ n) => (n === 0 ? "No file was put back." : `${files(n)} ${n === 1 ? "was" : "were"} put back.`),
  redone: (/** @type {number} */ n) => `${files(n)} ${n === 1 ? "is" : "are"} again as the assistant left ${n === 1 ? "it" : "them"}.`,
  commands: (/** @type {number} */ n) =>
    `${n === 1 ? "A command" : `${n} commands`} ran as well. What commands change is not recorded, and stays.`,
  failed: (/** @type {string} */ why) => `That did not work. ${why}`,
  outcomes: {
    restored: "put back",
    removed: "removed",
    partly: "put back in part",
    changed_since: "was changed since, and stays",
    already: "is as it was before",
    not_kept: "stays, because what it was before is not kept",
    failed: "could not be put back",
  },
});
