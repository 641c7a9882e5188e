// The channels, in German.

import { counted, plural } from "./count.js";

/** @type {typeof import("../channels.js").channelWords} */
export const channelWords = {
  title: "Wo Ihr Assistent erreichbar ist",
  failed: "Die Kanäle konnten nicht geladen werden",
  columns: {
    name: "Kanal",
    state: "Zustand",
    account: "Konto",
    detail: "Was zu wissen ist",
    inbound: "Zuletzt empfangen",
    outbound: "Zuletzt gesendet",
    waiting: "Wartet",
    what: "Nachricht",
    where: "An",
    error: "Was geschehen ist",
    at: "Vom",
    actions: "Aktionen",
  },
  states: {
    running: { label: "Läuft", tone: "good", icon: "check" },
    connecting: { label: "Verbindet", tone: "warn", icon: "clock" },
    degraded: { label: "Gestört", tone: "bad", icon: "alert" },
    off: { label: "Aus", tone: "", icon: "pause" },
  },
  names: {
    webchat: "Browser",
    telegram: "Telegram",
    discord: "Discord",
    slack: "Slack",
    whatsapp: "WhatsApp",
    matrix: "Matrix",
    email: "E-Mail",
  },
  never: "Noch nie",
  setUp: "Einrichten",

  deliveries: "Nicht zugestellt",
  deliveriesFailed: "Die Zustellungen konnten nicht geladen werden",
  allDelivered: "Alles wurde zugestellt",
  allDeliveredHint: "Antworten und Ergebnisse, die auf einen Kanal warten oder die er nicht angenommen hat, erscheinen hier.",
  deliveryStates: {
    waiting: { label: "Wartet", tone: "warn", icon: "clock" },
    failed: { label: "Aufgegeben", tone: "bad", icon: "alert" },
  },
  attempts: (n) => plural(n, "Versuch", "Versuche"),
  more: (shown, all) => `Die neuesten ${counted(shown)} von ${counted(all)}.`,
  again: "Erneut senden",
  sentAgain: "Es wird erneut gesendet.",
  remove: "Entfernen",
  removeTitle: "Diese Nachricht entfernen?",
  removeBody: (channel) => `Sie kommt dann nie über ${channel} an. In der Unterhaltung bleibt sie erhalten.`,
  removed: "Die Nachricht ist entfernt.",

  people: "Gekoppelte Personen",
  peopleFailed: "Die Kopplungen konnten nicht geladen werden",
  nobody: "Niemand ist gekoppelt",
  nobodyHint:
    "Einen Code erzeugen und ihn dem Assistenten in einem privaten Chat senden, oder Kennungen in `security.allowed_senders` eintragen.",
  invite: "Code erzeugen",
  inviteFor: (channel) => `Ein Code für ${channel}`,
  inviteText: (code) => `Senden Sie dem Assistenten in einem privaten Chat: /pair ${code}`,
  inviteHint: "Er gilt einmal und zehn Minuten lang. Wer ihn sendet, darf von da an Ihrem Assistenten schreiben.",
  confirm: "Code eingeben",
  confirmTitle: "Jemanden zulassen",
  confirmLabel: "Der Code, den die Person erhalten hat",
  confirmed: (sender, channel) => `${sender} darf über ${channel} schreiben.`,
  forget: "Zurücknehmen",
  forgetTitle: "Diese Kopplung zurücknehmen?",
  forgetBody: (sender, channel) =>
    `${sender} kann nicht mehr über ${channel} schreiben, es sei denn, security.allowed_senders führt die Person auf.`,
  forgotten: "Die Person kann dem Assistenten nicht mehr schreiben.",

  signIns: "Angemeldete Browser",
  signInsFailed: "Die Anmeldungen konnten nicht geladen werden",
  noSignIns: "Kein Browser ist angemeldet",
  noSignInsHint: "Ohne `dashboard.auth_token` muss sich auf diesem Rechner niemand anmelden.",
  thisOne: "Dieser Browser",
  until: "bis",
  end: "Beenden",
  endTitle: "Diese Anmeldung beenden?",
  endBody: (address) =>
    `Der Browser an ${address} wird wieder nach dem Token gefragt, und seine Verbindungen enden.`,
  ended: "Die Anmeldung ist beendet.",
};
