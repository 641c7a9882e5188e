// The words of the features panel.

import { translated } from "../shared/language.js";

export const featureWords = translated("features", {
  search: "Search features",
  failed: "The features could not be loaded",
  nothingTitle: "Nothing found",
  nothing: (/** @type {string} */ text) => `No feature matches “${text}”.`,
  emptyTitle: "No features are listed",
  empty: "Aethon lists here what it can do right now.",
  groups: /** @type {Record<string, {title: string, lead: string}>} */ ({
    degraded: { title: "Needs attention", lead: "Configured, but failing." },
    on: { title: "On", lead: "Works right now." },
    off: { title: "Off", lead: "Could work; you have not switched it on." },
    unavailable: { title: "Not available here", lead: "This build or this machine lacks what it takes." },
  }),
  states: /** @type {Record<string, {label: string, tone: "good" | "warn" | "bad" | "", icon: string}>} */ ({
    on: { label: "On", tone: "good", icon: "check" },
    off: { label: "Off", tone: "", icon: "pause" },
    degraded: { label: "Failing", tone: "bad", icon: "alert" },
    unavailable: { label: "Not available", tone: "warn", icon: "close" },
  }),
  key: "Key",
  turnOn: "Turn on",
  turnOnOf: (/** @type {string} */ title) => `Turn on: ${title}`,
  openKey: (/** @type {string} */ key) => `Show ${key} in the configuration`,
  asOf: "Read from what runs at this moment.",
});
