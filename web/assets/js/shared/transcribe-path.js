// Where the server writes down what is said.

/** @import { Path } from "./api.js" */
/** @import { Heard } from "../wire/api.js" */

/** @type {Path<Heard>} */
export const transcribePath = "/api/transcribe";
