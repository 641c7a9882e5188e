// The first panel: the state of the service, what waits for the owner, and the newest log lines.

import { badge } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { ago, duration } from "../shared/time.js";
import { texts } from "../texts.js";
import { approvalList } from "./approvals.js";
import { logView } from "./logs.js";
import { fact, loaded, place, placeEach, sectionHead } from "./pieces.js";
import { spentToday, usageTodayPath } from "./usage.js";

/** @import { View } from "./pieces.js" */
/** @import { Store } from "./store.js" */

export const statusPath = "/api/status";
const words = texts.dashboard;

/** @param {Store} store @param {HTMLElement} approvals the list of approvals, which outlives redrawing @returns {View} */
export function overview(store, approvals) {
  const state = make("section", {});
  const cards = make("dl", { class: "cards" });
  const asked = make("div", {});
  const logs = logView(store, 8);
  const element = make(
    "div",
    { class: "stack" },
    state,
    make("section", {}, sectionHead(words.waiting), asked),
    make("section", {}, sectionHead(words.latest, make("a", { href: "#/logs" }, words.allLogs)), logs.element),
  );
  const update = () => {
    const showState = (/** @type {any} */ status) => {
      placeEach(cards, facts(store, status));
      return cards;
    };
    place(state, loaded(store, statusPath, words.statusFailed, showState));
    place(asked, approvalList(store, approvals));
    logs.update();
  };
  return { element, update };
}

/** @param {Store} store @param {any} status @returns {HTMLElement[]} */
function facts(store, status) {
  const held = store.get(statusPath);
  const uptime = typeof status.uptime_seconds === "number" ? duration((status.uptime_seconds + (Date.now() - (held?.at ?? 0)) / 1000) * 1000) : "";
  const isRunning = status.status === "running" && !held?.problem;
  const state = isRunning ? badge(words.running, "good", "check") : badge(words.unknown, "warn", "alert");
  const stale = held?.problem ? words.asOf(ago(held.at)) : uptime && `${words.uptime} ${uptime}`;
  const spent = spentToday(store.get(usageTodayPath)?.value);
  return [
    fact(words.service, state, stale || undefined),
    fact(words.model, status.model_ready === false ? badge(words.notReady, "warn", "key") : (status.model ?? words.unknown), status.model_ready === false ? (status.model_hint ?? texts.model.missingHint) : status.provider),
    fact(words.channels, channelNames(status.channels), `${words.version} ${status.version ?? words.unknown}`),
    ...(spent ? [spent] : []),
  ];
}

/** Channels come as a list or as an object of switches. @param {any} channels */
function channelNames(channels) {
  const entries = Array.isArray(channels) ? channels.map((channel) => [channel?.name ?? channel, channel]) : Object.entries(channels ?? {});
  const running = entries.filter(([, state]) => state !== false && state?.enabled !== false && state !== "off").map(([name]) => String(name));
  return running.join(", ") || words.noChannels;
}
