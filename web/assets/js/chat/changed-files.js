// The files that tools have changed in the open conversation, so that the page can offer to put them back.
//
// The server knows them. It is asked only if a tool that changes files is among what is shown, and again after each turn with one.

import { request, sessionPath } from "../shared/api.js";
import { isTemporary } from "./route.js";

/** @import { Path } from "../shared/api.js" */
/** @import { FileChange, FileChangeList, FilesPutBack } from "../wire/api.js" */
/** @import { Turn } from "./types.js" */

/**
 * What can be put back with a turn and all later ones. `names` are files that are as the assistant left them, `others` those that
 * somebody has changed since.
 * @typedef {{names: string[], others: string[], commands: () => Promise<number>, putBack: () => Promise<FilesPutBack>,
 *   redo: () => Promise<FilesPutBack>}} FileOffer
 */

const writers = new Set(["file_write", "file_edit"]);

/** Whether tools of a turn may have changed files: its own, or those of specialists. @param {Turn} turn */
export const touchesFiles = ({ reply }) =>
  reply.extras.some(
    ({ part }) => part.kind === "tool" && part.state !== "denied" && (writers.has(part.name) || part.name.startsWith("ask_")),
  );

/**
 * The files that changes since a turn left as they are now, and those that were changed by somebody else. Ids of turns grow with
 * time.
 * @param {FileChange[]} changes @param {string} turn
 */
export function filesSince(changes, turn) {
  const since = changes.filter((change) => change.turn >= turn);
  const paths = (/** @type {FileChange[]} */ some) => [...new Set(some.map(({ path }) => path))];
  const names = paths(since.filter(({ state }) => state === "as_left"));
  const others = paths(since.filter(({ state }) => state === "changed_since"));
  return { names, others: others.filter((path) => !names.includes(path)) };
}

export class ChangedFiles {
  #name;
  /** @type {FileChange[]} */ #changes = [];
  #isKnown = false;

  /** @param {string} name that of the conversation */
  constructor(name) {
    this.#name = name;
  }

  /** Asks what was changed, if there may be anything new. @param {Turn[]} turns what is shown @param {boolean} [isNews] */
  async look(turns, isNews = false) {
    if ((this.#isKnown && !isNews) || isTemporary(this.#name) || !turns.some(touchesFiles)) return;
    this.#isKnown = true;
    try {
      this.#changes = (await request(listPath(this.#name, ""))).changes;
    } catch {
      // Nothing is offered then, and the next turn asks again.
      this.#isKnown = false;
    }
  }

  /** What can be put back with this turn and all later ones. @param {Turn} turn @returns {FileOffer | null} */
  since({ id }) {
    if (!id) return null;
    const { names, others } = filesSince(this.#changes, id);
    if (names.length === 0) return null;
    return {
      names,
      others,
      commands: async () => (await request(listPath(this.#name, id))).commands,
      putBack: () => this.#act(undoPath(this.#name), { turn: id }),
      redo: () => this.#act(redoPath(this.#name)),
    };
  }

  /** @param {Path<FilesPutBack>} path @param {unknown} [body] */
  async #act(path, body) {
    const done = await request(path, { method: "POST", body });
    this.#isKnown = true;
    this.#changes = (await request(listPath(this.#name, "")).catch(() => ({ changes: [] }))).changes;
    return done;
  }
}

/** @param {string} name @param {string} turn @returns {Path<FileChangeList>} */
const listPath = (name, turn) => `${sessionPath(name)}/file-changes${turn && `?turn=${encodeURIComponent(turn)}`}`;

/** @param {string} name @returns {Path<FilesPutBack>} */
const undoPath = (name) => `${sessionPath(name)}/file-changes/undo`;

/** @param {string} name @returns {Path<FilesPutBack>} */
const redoPath = (name) => `${sessionPath(name)}/file-changes/redo`;
