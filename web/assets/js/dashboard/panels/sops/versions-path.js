// Where the earlier versions of an SOP are.

/** @import { Path } from "../../../shared/api.js" */
/** @import { SopVersions } from "../../../wire/api.js" */

/** @param {string} name @returns {Path<SopVersions>} */
export const versionsPath = (name) => `/api/sops/${encodeURIComponent(name)}/versions`;
