// The words for what was typed and not saved, and is there again.

import { translated } from "../shared/language.js";

export const draftWords = translated("drafts", {
  isBack: (/** @type {string} */ when) => `What you typed ${when} is here again. It is not saved yet.`,
  offered: (/** @type {string} */ when) => `Something was typed here in another window ${when}, and not saved.`,
  offeredOther: (/** @type {string} */ when) =>
    `You typed something here ${when} and did not save it. What you see was changed since.`,
  take: "Bring it back",
  discard: "Discard it",
  copy: "Copy what you typed",
  left: (/** @type {string} */ when) => `You typed this ${when}, and it was not saved:`,
});
