// What the assistant can do right now, according to the running parts: failures come first, and every feature names its key.

import { searchField } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { badge } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { sentence } from "../../../shared/sentence.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { featureWords as words } from "../../../texts/features.js";
import { ranked } from "../../matching.js";
import { hrefOf } from "../../route.js";
import { instances } from "./instances.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { Feature, Features } from "../../../wire/api.js" */

/** @type {Path<Features>} */ const path = "/api/features";
const order = ["degraded", "on", "off", "unavailable"];

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  let query = context.query.get("q") ?? "";
  const groups = make("div", { class: "stack" });
  const show = () => {
    draw(groups, context.store.get(path)?.value?.features ?? [], query);
    return groups;
  };
  const view = region(context, { path, failure: words.failed, show, lines: 8 });
  const search = searchField({
    label: words.search,
    value: query,
    delay: 80,
    change: (text) => {
      query = text.trim();
      context.note([], { q: query });
      show();
    },
  });
  const others = instances(context);
  fill(root, make("div", { class: "bar" }, search.element), view.element, others.element);
  const refresh = () => {
    view.soon();
    others.soon();
  };
  const timer = setInterval(() => !document.hidden && context.isLive() && refresh(), 20000);
  return { refresh, unmount: () => clearInterval(timer) };
}

/** @param {HTMLElement} host @param {Feature[]} features @param {string} query */
function draw(host, features, query) {
  const found = ranked(
    features,
    query,
    (feature) => `${feature.title} ${feature.id} ${feature.detail} ${feature.config_key}`,
  );
  const sections = order.flatMap((name) => {
    const members = found.filter((feature) => feature.state === name);
    return members.length > 0 ? [section(name, members)] : [];
  });
  if (sections.length > 0) fill(host, ...sections);
  else
    fill(
      host,
      query
        ? state({ icon: "search", title: words.nothingTitle, text: words.nothing(visibleText(query)) })
        : state({ icon: "switches", title: words.emptyTitle, text: words.empty }),
    );
}

/** @param {string} name @param {Feature[]} members */
function section(name, members) {
  const { title, lead } = words.groups[name];
  return make(
    "section",
    {},
    make(
      "div",
      { class: "section-head" },
      make("h2", {}, title, " ", make("span", { class: "is-soft" }, String(members.length))),
      make("span", { class: "field-hint" }, lead),
    ),
    make("ul", { class: "feature-list", role: "list" }, ...members.map(row)),
  );
}

/** @param {Feature} feature */
function row(feature) {
  const { label, tone, icon } = words.states[feature.state] ?? {
    label: feature.state,
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  const key =
    feature.config_key &&
    make(
      "a",
      {
        class: "mono feature-key",
        href: hrefOf("config", [], { q: feature.config_key }),
        title: words.openKey(feature.config_key),
      },
      ...visible(feature.config_key),
    );
  return make(
    "li",
    { class: "feature", id: `feature-${feature.id}` },
    make("h3", {}, ...visible(feature.title)),
    badge(label, tone, icon),
    make("p", { class: "feature-detail" }, ...sentence(String(feature.detail ?? ""))),
    make("div", { class: "feature-way" }, feature.state === "off" && wayOn(feature), key),
  );
}

/** Where it is turned on: a messenger where it is set up, everything else at its key. @param {Feature} feature */
function wayOn({ id, title, config_key: key }) {
  const channel = /^channel\.(.+)$/.exec(id)?.[1];
  if (!channel && !key) return null;
  const href = channel ? hrefOf("channels", [channel]) : hrefOf("config", [key]);
  return make(
    "a",
    { class: "button button-small", href, "aria-label": visibleText(words.turnOnOf(title)) },
    words.turnOn,
  );
}
