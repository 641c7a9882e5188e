// Loads the modules of the dashboard on demand.

import { importAgain } from "../shared/import-again.js";

/**
 * What the modules have that are loaded on demand.
 * @template {string} Name
 * @typedef {Name extends "palette" ? typeof import("./palette.js") : {mount: import("./panels.js").Mount}} Loaded
 */

/**
 * Loads the module `NAME.js` in this folder.
 * @template {"palette" | `panels/${string}/index`} Name @param {Name} name @returns {Promise<Loaded<Name>>}
 */
export const importWithRetry = (name) => importAgain(new URL(`./${name}.js`, import.meta.url).href);
