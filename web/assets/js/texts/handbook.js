// The words of the links to the handbook.

import { translated } from "../shared/language.js";

export const handbookWords = translated("handbook", {
  title: "Handbook",
  fromHelp: "The handbook: a first hour, models, messengers, and what to do when something fails",
});
