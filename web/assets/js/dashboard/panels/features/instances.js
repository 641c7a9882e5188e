// The daemons that serve the same storage: shown when there are several.

import { region } from "../../../components/state.js";
import { badge } from "../../../shared/controls.js";
import { make } from "../../../shared/dom.js";
import { timeElement } from "../../../shared/time.js";
import { visible } from "../../../shared/visible.js";
import { instanceWords as words } from "../../../texts/instances.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { Instance, InstanceList } from "../../../wire/api.js" */

/** @type {Path<InstanceList>} */ const path = "/api/instances";

/** @param {import("../../context.js").Context} context */
export function instances(context) {
  return region(context, {
    path,
    failure: words.failed,
    lines: 0,
    show: ({ instances }) =>
      instances.length > 1 ? section(instances) : make("div", {}),
  });
}

/** @param {Instance[]} all */
function section(all) {
  return make(
    "section",
    { id: "instances" },
    make(
      "div",
      { class: "section-head" },
      make("h2", {}, words.title, " ", make("span", { class: "is-soft" }, String(all.length))),
      make("span", { class: "field-hint" }, words.lead),
    ),
    make("ul", { class: "feature-list", role: "list" }, ...all.map(row)),
  );
}

/** @param {Instance} one */
function row(one) {
  return make(
    "li",
    { class: "feature" },
    make("h3", {}, ...visible(one.name)),
    one.this ? badge(words.here, "good", "check") : badge(words.there, "good", "check"),
    make("p", { class: "feature-detail" }, words.started(one.version), " ", timeElement(one.started_at)),
  );
}
