// A change of one key, as the user reviews it: what it does to the file, and which version of the file that is true of. It is saved
// only while it is still true.

import { Problem } from "../../../shared/api.js";
import { valueAt } from "./model.js";

/** @import { ConfigEdited } from "../../../wire/api.js" */
/** @import { Path } from "../../../shared/api.js" */

/**
 * @typedef {{value: unknown, edited: ConfigEdited, refusal: Problem | null, present: unknown}} Reviewed `present`: the key's present
 *   value
 * @typedef {{kept: ConfigEdited, fresh: null} | {kept: null, fresh: Reviewed}} Saved `kept` is null if the review is not true any more;
 *   `fresh` is true then
 */

/** How often it is looked at again while others change the file. */
const MOST = 4;

export class ConfigChange {
  #context;
  #key;
  #etag = "";

  /** @param {import("../../context.js").Context} context @param {string} key */
  constructor(context, key) {
    this.#context = context;
    this.#key = key;
  }

  /** What saving this value would change now; null takes the key out. @param {unknown} value @returns {Promise<Reviewed>} */
  async review(value) {
    for (let round = 0; ; round += 1) {
      const { data, etag } = await this.#context.exchange("/api/config");
      this.#etag = etag;
      const present = valueAt(data, this.#key);
      try {
        return { value, edited: (await this.#send(value, true, {})).data, refusal: null, present };
      } catch (fault) {
        const refusal = /** @type {Problem} */ (fault);
        if (isOutdated(refusal) && round < MOST) continue;
        // A refused preview still has what would change.
        if (!refusal.document?.change) throw fault;
        return { value, edited: refusal.document.change, refusal, present };
      }
    }
  }

  /**
   * Saves the reviewed change. If the file has changed since, but the review is true of it as well, that makes no difference;
   * otherwise nothing is saved.
   * @param {Reviewed} reviewed @param {Record<string, string>} headers @returns {Promise<Saved>}
   */
  async save(reviewed, headers) {
    for (let round = 0; ; round += 1) {
      try {
        return { kept: (await this.#send(reviewed.value, false, headers)).data, fresh: null };
      } catch (fault) {
        if (!isOutdated(fault)) throw fault;
        const fresh = await this.review(reviewed.value);
        // The value in the file counts, even if it is in force only after a restart.
        const { current } = /** @type {Problem} */ (fault).document ?? {};
        if (current) fresh.present = valueAt(current, this.#key);
        if (round === MOST || changedLines(fresh.edited.diff) !== changedLines(reviewed.edited.diff))
          return { kept: null, fresh };
      }
    }
  }

  /** @param {unknown} value @param {boolean} isDry @param {Record<string, string>} headers */
  #send(value, isDry, headers) {
    /** @type {Record<string, string>} */
    const match = this.#etag ? { "If-Match": this.#etag } : {};
    /** @type {Path<ConfigEdited>} */ const path = `/api/config${isDry ? "?dry_run=true" : ""}`;
    return this.#context.exchange(path, {
      method: "PATCH",
      body: { [this.#key]: value },
      headers: { ...headers, ...match },
    });
  }
}

/** @param {unknown} fault */
const isOutdated = (fault) => fault instanceof Problem && (fault.status === 412 || fault.code === "changed_elsewhere");

/** The lines that a diff takes out and puts in, without where they stand. @param {string} diff */
const changedLines = (diff) =>
  String(diff ?? "")
    .split("\n")
    .filter((line) => /^[+-](?![+-]{2} )/.test(line))
    .join("\n");
