// All German words of the documentation of the API, by the names of their catalogues.

import { docsWords } from "./docs.js";
import { handbookWords } from "./handbook.js";
import { texts } from "./texts.js";

export const words = {
  docs: docsWords,
  handbook: handbookWords,
  texts,
};
