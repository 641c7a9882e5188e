// Drafts: the unsent message of a conversation with its uploaded files, or the unsent edit of a turn. They survive a reload and a switch to another
// conversation, and are lost when the tab is closed.

/** The unsent message of a conversation. @param {string} session */
export const messageDraft = (session) => draftAt(session && `aethon.draft.${session}`);

/** The unsent edit of a turn. @param {string} turn */
export const editDraft = (turn) => draftAt(turn && `aethon.edit.${turn}`);

/** What was typed into an edit that was left without a decision, until the editor of the turn is opened again. @param {string} turn */
export const leftEdit = (turn) => draftAt(turn && `aethon.left-edit.${turn}`);

/** The files of an unsent message, those that were uploaded. @param {string} session */
export const filesDraft = (session) => draftAt(session && `aethon.files.${session}`);

/** Moves what is written and not sent to another conversation. @param {string} from @param {string} to */
export function moveDrafts(from, to) {
  for (const draft of [messageDraft, filesDraft]) {
    draft(to).keep(draft(from).read());
    draft(from).keep("");
  }
}

/** @typedef {{read: () => string, keep: (text: string) => void}} Draft */

/** @param {string} key @returns {Draft} */
function draftAt(key) {
  const read = () => {
    try {
      return sessionStorage.getItem(key) ?? "";
    } catch {
      return "";
    }
  };
  const keep = (/** @type {string} */ text) => {
    try {
      if (!key) return;
      if (text) sessionStorage.setItem(key, text);
      else sessionStorage.removeItem(key);
    } catch {
      // Losing a draft is no disaster.
    }
  };
  return { read, keep };
}

const saidKey = "aethon.said";
const saidCount = 20;

/** Keeps the message of a turn, for a page that cannot load the transcript. @param {string} turn @param {string} text */
export function keepSaid(turn, text) {
  draftAt(saidKey).keep(JSON.stringify([...readSaid(), [turn, text.slice(0, 4000)]].slice(-saidCount)));
}

/** @param {string} turn @returns {string} */
export const saidIn = (turn) => readSaid().find(([id]) => id === turn)?.[1] ?? "";

/** @returns {[string, string][]} */
function readSaid() {
  try {
    return JSON.parse(draftAt(saidKey).read() || "[]");
  } catch {
    return [];
  }
}
