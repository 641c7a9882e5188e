// The configuration in the order in which people look for it: the common settings, then the sections by what they are for.

import { badge } from "../../../shared/controls.js";
import { make } from "../../../shared/dom.js";
import { sentence } from "../../../shared/sentence.js";
import { visible } from "../../../shared/visible.js";
import { configWords } from "../../../texts/config.js";
import { groupWords as words } from "../../../texts/config-groups.js";
import { valueText } from "./value.js";

/** @import { Entry } from "./model.js" */

/**
 * Sections by group, in the order of the groups; those that belong to none come last.
 * @template {{name: string}} [Section={name: string}]
 * @param {Section[]} sections @returns {{label: string, sections: Section[]}[]}
 */
export function grouped(sections) {
  const first = (/** @type {Section} */ section) => section.name.split(".")[0];
  const known = new Set(words.groups.flatMap(([, names]) => names));
  const groups = words.groups.map(([label, names]) => ({
    label,
    sections: sections.filter((section) => names.includes(first(section))),
  }));
  groups.push({ label: words.rest, sections: sections.filter((section) => !known.has(first(section))) });
  return groups.filter((group) => group.sections.length > 0);
}

/** The common settings that this version has. @param {Entry[]} entries @param {(key: string) => string} hrefOf */
export function commonSettings(entries, hrefOf) {
  const rows = words.keys.flatMap(([key, title]) => {
    const entry = entries.find((one) => one.key === key);
    return entry ? [row(entry, title, hrefOf(key))] : [];
  });
  if (rows.length === 0) return null;
  return make(
    "section",
    { class: "config-common" },
    make("h2", {}, words.common),
    make("p", { class: "field-hint" }, words.commonHint),
    make("ul", { role: "list", class: "config-cards" }, ...rows),
  );
}

/** @param {Entry} entry @param {string} title @param {string} href */
function row(entry, title, href) {
  return make(
    "li",
    {},
    make(
      "a",
      { href, class: "config-card" },
      make("span", { class: "config-card-title" }, title),
      make(
        "span",
        { class: "config-card-now" },
        make("span", { class: "mono config-value" }, ...visible(valueText(entry))),
        entry.isChanged && badge(configWords.changed, "accent", "check"),
      ),
      make("span", { class: "config-about" }, ...sentence(entry.description)),
      entry.origin?.needs_restart && make("span", { class: "config-card-restart" }, words.restart),
    ),
  );
}
