// The content of an empty conversation: a greeting, the configuration, three things to try.

import { badge, note } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { texts } from "../texts.js";
import { setupWords } from "../texts/setup.js";

/** @import { Status } from "../wire/api.js" */

/**
 * @param {Status | null} status from /api/status, or null while it is unknown
 * @param {(text: string) => void} suggest
 * @param {string} remark another remark, if any
 * @param {HTMLElement | null} setup what sets up the first model, where that can be done here
 */
export function welcome(status, suggest, remark, setup) {
  const words = texts.welcome;
  const hour = new Date().getHours();
  const greeting = hour < 5 || hour >= 18 ? words.evening : hour < 12 ? words.morning : words.day;
  const channels = list(status?.channels).length;
  return make(
    "div",
    { class: "welcome" },
    make(
      "div",
      {},
      make("h2", {}, greeting),
      make("p", {}, words.lead),
      status &&
        make(
          "div",
          { class: "facts" },
          status.model && status.model_ready !== false && badge(words.model(status.model), "accent", "spark"),
          channels > 0 && badge(words.channels(channels), "", "chat"),
          status.version && badge(words.version(status.version)),
        ),
    ),
    status?.model_ready === false && (setup ?? modelMissing(status)),
    status?.demo === true &&
      note({ title: texts.model.demoTitle, text: setup ? texts.model.demoForm : texts.model.demoHint, icon: "key" }),
    status?.demo === true && setup && folded(setup),
    remark && note({ text: remark }),
    reach(status),
    make(
      "div",
      { class: "suggestions" },
      ...words.suggestions.map((suggestion) => suggestionButton(suggestion, suggest)),
    ),
  );
}

/** @param {HTMLElement} setup */
function folded(setup) {
  return make(
    "details",
    { class: "fold" },
    make("summary", {}, icon("chevron", "chevron"), icon("key"), make("span", {}, setupWords.demo)),
    make("div", { class: "fold-body" }, setup),
  );
}

/** The things that the assistant can read and run here, in the service's words. @param {Status | null} status */
function reach(status) {
  const sentences = Array.isArray(status?.reach) ? status.reach : [];
  if (sentences.length === 0) return null;
  return make(
    "details",
    { class: "fold" },
    make("summary", {}, icon("chevron", "chevron"), icon("info"), make("span", {}, texts.welcome.reach)),
    make("div", { class: "fold-body" }, ...sentences.map((/** @type {string} */ sentence) => make("p", {}, sentence))),
  );
}

/** @param {Status | null} status */
export function modelMissing(status) {
  return note({
    title: texts.model.missingTitle,
    text: status?.model_hint || texts.model.missingHint,
    tone: "warn",
    icon: "key",
  });
}

/** @param {{icon: string, title: string, text: string}} suggestion @param {(text: string) => void} suggest */
function suggestionButton({ icon: name, title, text }, suggest) {
  const press = () => suggest(text);
  return make(
    "button",
    { type: "button", on: { click: press } },
    icon(name),
    make("span", {}, make("strong", {}, title), text),
  );
}

/** The channels that are on, which come as a list or as an object of switches. @param {unknown} channels */
function list(channels) {
  if (Array.isArray(channels)) return channels.filter((channel) => channel?.enabled !== false);
  return Object.values(channels ?? {}).filter((value) => value !== false && value?.enabled !== false);
}
