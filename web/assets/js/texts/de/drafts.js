// What was typed and not saved, and is there again, in German.

/** @type {typeof import("../drafts.js").draftWords} */
export const draftWords = {
  isBack: (when) => `Ihre Eingabe ist wieder da (${when}). Sie ist noch nicht gespeichert.`,
  offered: (when) => `In einem anderen Fenster wurde hier etwas eingegeben und nicht gespeichert (${when}).`,
  offeredOther: (when) =>
    `Sie haben hier etwas eingegeben und nicht gespeichert (${when}). Was Sie sehen, wurde seitdem geändert.`,
  take: "Zurückholen",
  discard: "Verwerfen",
  copy: "Eingabe kopieren",
  left: (when) => `Das haben Sie eingegeben, und es wurde nicht gespeichert (${when}):`,
};
