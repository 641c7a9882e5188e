// All German words of the sign-in page, by the names of their catalogues.

import { texts } from "./texts.js";

export const words = {
  texts,
};
