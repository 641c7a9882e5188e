// The words of the channels panel.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const channelWords = translated("channels", {
  title: "Where you can reach your assistant",
  failed: "The channels could not be loaded",
  columns: {
    name: "Channel",
    state: "State",
    account: "Account",
    detail: "What there is to know",
    inbound: "Last received",
    outbound: "Last sent",
    waiting: "Waiting",
    what: "Message",
    where: "To",
    error: "What happened",
    at: "From",
    actions: "Actions",
  },
  states: /** @type {Record<string, {label: string, tone: "good" | "warn" | "bad" | "", icon: string}>} */ ({
    running: { label: "Running", tone: "good", icon: "check" },
    connecting: { label: "Connecting", tone: "warn", icon: "clock" },
    degraded: { label: "Failing", tone: "bad", icon: "alert" },
    off: { label: "Off", tone: "", icon: "pause" },
  }),
  names: /** @type {Record<string, string>} */ ({
    webchat: "Browser",
    telegram: "Telegram",
    discord: "Discord",
    slack: "Slack",
    whatsapp: "WhatsApp",
    matrix: "Matrix",
    email: "E-mail",
  }),
  never: "Never",
  setUp: "Set up",

  deliveries: "Not delivered",
  deliveriesFailed: "The deliveries could not be loaded",
  allDelivered: "Everything was delivered",
  allDeliveredHint: "Replies and results that wait for a channel, or that it refused, appear here.",
  deliveryStates: /** @type {Record<string, {label: string, tone: "good" | "warn" | "bad" | "", icon: string}>} */ ({
    waiting: { label: "Waiting", tone: "warn", icon: "clock" },
    failed: { label: "Given up", tone: "bad", icon: "alert" },
  }),
  attempts: (/** @type {number} */ n) => plural(n, "attempt", "attempts"),
  more: (/** @type {number} */ shown, /** @type {number} */ all) =>
    `The newest ${shown.toLocaleString("en")} of ${all.toLocaleString("en")}.`,
  again: "Send again",
  sentAgain: "It is sent again.",
  remove: "Remove",
  removeTitle: "Remove this message?",
  removeBody: (/** @type {string} */ channel) => `It then never arrives on ${channel}. The conversation keeps it.`,
  removed: "The message is removed.",

  people: "People who were paired",
  peopleFailed: "The pairings could not be loaded",
  nobody: "No one is paired",
  nobodyHint: "Make a code and send it to the assistant in a private chat, or list ids in `security.allowed_senders`.",
  invite: "Make a code",
  inviteFor: (/** @type {string} */ channel) => `A code for ${channel}`,
  inviteText: (/** @type {string} */ code) => `Send this to the assistant in a private chat: /pair ${code}`,
  inviteHint: "It counts once and for ten minutes. Anyone who sends it may write to your assistant from then on.",
  confirm: "Enter a code",
  confirmTitle: "Let someone in",
  confirmLabel: "The code that they were given",
  confirmed: (/** @type {string} */ sender, /** @type {string} */ channel) => `${sender} may write on ${channel}.`,
  forget: "Take back",
  forgetTitle: "Take this pairing back?",
  forgetBody: (/** @type {string} */ sender, /** @type {string} */ channel) =>
    `${sender} can no longer write on ${channel}, unless security.allowed_senders lists them.`,
  forgotten: "They can no longer write to the assistant.",

  signIns: "Browsers that are signed in",
  signInsFailed: "The sign-ins could not be loaded",
  noSignIns: "No browser is signed in",
  noSignInsHint: "Without `dashboard.auth_token` no one needs to sign in on this machine.",
  thisOne: "This browser",
  until: "until",
  end: "End",
  endTitle: "End this sign-in?",
  endBody: (/** @type {string} */ address) =>
    `The browser at ${address} is asked for the token again, and its connections end.`,
  ended: "The sign-in has ended.",
});
