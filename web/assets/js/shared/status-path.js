// Where the state of the server is.

/** @import { Path } from "./api.js" */
/** @import { Status } from "../wire/api.js" */

/** @type {Path<Status>} */
export const statusPath = "/api/status";
