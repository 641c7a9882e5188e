// The choice of the language: the browser's, or one that this browser keeps. A language is loaded with the page, so choosing one loads
// the page again; what was typed is kept as on every reload.

import { texts } from "../texts.js";
import { iconButton } from "./controls.js";
import { menuOn } from "./menu.js";
import { recall, remember } from "./storage.js";

const key = "aethon.language";
/** The languages by their own names. `early/language.js` has the same list. */
export const languages = { en: "English", de: "Deutsch" };

/** The button that opens the list of languages. */
export function languageChoice() {
  const opener = iconButton({ label: texts.language.label, icon: "globe" });
  menuOn(opener, () => {
    const chosen = recall(key) ?? "";
    return [["", texts.language.system], ...Object.entries(languages)].map(([language, label]) => ({
      label,
      icon: language === chosen ? "check" : "globe",
      isChosen: language === chosen,
      press: () => choose(language),
    }));
  });
  return opener;
}

/** @param {string} language empty for the browser's */
function choose(language) {
  remember(key, language || null);
  const address = new URL(location.href);
  // A language in the address would win over the choice.
  address.searchParams.delete("lang");
  history.replaceState(history.state, "", address);
  location.reload();
}
