// The words for what was changed or deleted elsewhere, and for leaving with unsaved text.

import { translated } from "../shared/language.js";

export const conflictWords = translated("conflict", {
  title: "Changed elsewhere",
  text: (/** @type {string} */ name, /** @type {string} */ when) =>
    `${name} was changed ${when}, after you opened it here: in another window, by the assistant, or by a program. ` +
    `What you wrote is still here.`,
  meanwhile: "meanwhile",
  show: "Show",
  hide: "Hide",
  mine: "Keep mine",
  theirs: "Take theirs",
  stay: "Go on editing",
  back: "Back",
  goneTitle: "Deleted elsewhere",
  goneText: (/** @type {string} */ name) =>
    `${name} was deleted, after you opened it here: in another window, by the assistant, or by a program. What you wrote is still here.`,
  goneWhileRead: "It was deleted elsewhere while it was open here.",
  mineAsNew: "Keep mine as new",
  letGo: "Let it go",
  ours: "What keeping yours would change",
  changedThere: "What was changed elsewhere",
  changedHere: "What you changed",
  noted: (/** @type {string} */ when) => `Changed elsewhere ${when}. Nothing is overwritten unasked.`,
  notedGone: "Deleted elsewhere. What you wrote is still here.",
  look: "Look",
  took: "You see the other version. Yours is kept until you leave.",
  putBack: "Put mine back",
  exists: "There is one already",
  existsText: (/** @type {string} */ name) => `${name} exists already. Keeping yours replaces it.`,
  removeText: (/** @type {string} */ name) => `${name} was changed after you opened it here. Delete it all the same?`,
  removeAnyway: "Delete it all the same",
  keepIt: "Keep it",
  renamed: (/** @type {string} */ theirs, /** @type {string} */ mine) =>
    `It was renamed elsewhere and is called “${theirs}” now. You typed “${mine}”.`,
  tookTitle: (/** @type {string} */ theirs) => `It is called “${theirs}” now.`,
  goneAlready: "It was deleted elsewhere already.",
  shownNow: "Changed elsewhere. You see it as it is now.",

  unsavedTitle: "Leave without saving?",
  unsaved: "What you wrote here will be lost.",
  leave: "Leave",
});
