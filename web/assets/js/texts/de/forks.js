// Forks of a conversation, versions, and messages that are taken back, in German.

/** @type {typeof import("../forks.js").forkWords} */
export const forkWords = {
  fork: "Von hier aus in einer neuen Unterhaltung weitermachen",
  done: "Dies ist eine neue Unterhaltung. Die andere ist, wie sie war.",
  failed: (why) => `Die Unterhaltung konnte nicht abgezweigt werden. ${why}`,
  setAside: (count) =>
    count === 1
      ? "Die Nachricht danach bleibt bei der anderen Fassung."
      : `Die ${count} Nachrichten danach bleiben bei der anderen Fassung.`,
  edit: "Bearbeiten",
  editLabel: (text) => `Zurücknehmen und bearbeiten: ${text}`,
};
