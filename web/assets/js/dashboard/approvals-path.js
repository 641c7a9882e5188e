// The API path of the pending approvals: the frame counts them, the panel shows them.

/** @import { Path } from "../shared/api.js" */
/** @import { Approvals } from "../wire/api.js" */

/** @type {Path<Approvals>} */
export const approvalsPath = "/api/approvals";
