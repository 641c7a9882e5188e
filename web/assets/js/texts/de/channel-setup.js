// The words of setting up a messenger, in German. Names of buttons are given as the platforms' own pages have them.

const byCode = "Leer lassen, um stattdessen einen Code zu verwenden.";

const guides = {
  telegram: {
    link: { label: "BotFather öffnen", href: "https://t.me/BotFather" },
    steps: [
      "In Telegram an @BotFather schreiben und `/newbot` senden.",
      "Einen Namen für den Assistenten wählen, und einen, der auf `bot` endet.",
      "BotFather antwortet mit einem Token. Diesen hier einfügen.",
    ],
    fields: [
      {
        key: "token",
        label: "Token des Bots",
        isSecret: true,
        isNeeded: true,
        hint: "Er sieht aus wie `123456789:AAH…`.",
      },
    ],
    people: {
      label: "Wer schreiben darf, nach ID",
      hint: "Zahlen, eine je Zeile. Leer lassen, um sich stattdessen mit einem Code einzulassen; das ist einfacher.",
    },
    first: "Einen privaten Chat mit dem Bot öffnen und ihm `/pair` mit dem Code senden.",
  },
  discord: {
    link: { label: "Entwicklerportal öffnen", href: "https://discord.com/developers/applications" },
    steps: [
      "Im Entwicklerportal eine Anwendung anlegen. Unter „Bot“ den Token zurücksetzen und kopieren.",
      "Unter „Installation“ „Guild Install“ wählen, mit den Scopes `bot` und `applications.commands` und den Rechten „Send Messages“, „Read Message History“ und „Attach Files“.",
      "Den Installationslink dort öffnen und den Bot zu einem eigenen Server hinzufügen.",
    ],
    fields: [{ key: "token", label: "Token des Bots", isSecret: true, isNeeded: true }],
    people: { label: "Wer schreiben darf, nach ID", hint: `IDs von Nutzern, eine je Zeile. ${byCode}` },
    first: "Dem Bot in einer Direktnachricht `/pair` mit dem Code senden.",
  },
  slack: {
    link: { label: "Eigene Slack-Apps öffnen", href: "https://api.slack.com/apps" },
    steps: [
      "Eine App aus einem Manifest anlegen; das Manifest dazu steht in docs/channels.md.",
      "Unter „Basic Information“, „App-Level Tokens“ einen Token mit dem Scope `connections:write` anlegen.",
      "Die App installieren. Unter „OAuth & Permissions“ den Token des Bots kopieren.",
    ],
    fields: [
      {
        key: "bot_token",
        label: "Token des Bots",
        isSecret: true,
        isNeeded: true,
        hint: "Er beginnt mit `xoxb-`.",
      },
      { key: "app_token", label: "Token der App", isSecret: true, isNeeded: true, hint: "Er beginnt mit `xapp-`." },
    ],
    people: { label: "Wer schreiben darf, nach ID", hint: `IDs wie \`U012AB3CD\`, eine je Zeile. ${byCode}` },
    first: "Der App in ihrem Reiter „Messages“ `/pair` mit dem Code senden.",
  },
  matrix: {
    steps: [
      "Auf dem Homeserver ein Konto für den Assistenten anlegen und sich einmal damit anmelden.",
      "Das Zugriffstoken kopieren (in Element: Einstellungen, Hilfe & Über, Erweitert) und sich in dieser Sitzung nicht abmelden.",
    ],
    fields: [
      {
        key: "api_base",
        label: "Adresse des Homeservers",
        isNeeded: true,
        placeholder: "https://matrix.example.org",
      },
      { key: "user_id", label: "Sein Nutzer", hint: "Etwa `@aethon:example.org`. Der Token eines anderen Kontos wird dann abgelehnt." },
      { key: "token", label: "Zugriffstoken", isSecret: true, isNeeded: true },
    ],
    people: { label: "Wer schreiben darf", hint: "Nutzer wie `@ada:example.org`, einer je Zeile." },
    first: "Einen Raum ohne Verschlüsselung anlegen und den Assistenten einladen.",
  },
  email: {
    steps: [
      "Dem Assistenten ein eigenes Postfach geben: E-Mails derer, die schreiben dürfen, markiert er als gelesen.",
      "Im Quelltext einer E-Mail, die dort angekommen ist, den Namen am Anfang der obersten Zeile `Authentication-Results` suchen. Er belegt, von wem eine E-Mail stammt.",
      "Gmail verlangt ein App-Passwort. Ein Server, der keine Passwörter annimmt, wird im Terminal eingerichtet (`channels.email.oauth_command`).",
    ],
    fields: [
      { key: "imap_host", label: "IMAP-Server", isNeeded: true, placeholder: "imap.example.org" },
      { key: "smtp_host", label: "SMTP-Server", isNeeded: true, placeholder: "smtp.example.org" },
      { key: "username", label: "Name des Kontos", isNeeded: true, placeholder: "assistant@example.org" },
      { key: "password", label: "Passwort", isSecret: true, isNeeded: true },
      {
        key: "authserv_id",
        label: "Name in Authentication-Results",
        isNeeded: true,
        placeholder: "mx.example.org",
      },
    ],
    people: { label: "Wer schreiben darf", hint: "E-Mail-Adressen, eine je Zeile. Niemand sonst bekommt Antwort." },
    first: "Ihm eine E-Mail senden.",
  },
  whatsapp: {
    warning:
      "Die Bedingungen von Meta verbieten allgemeine Assistenten auf WhatsApp, und Meta kann die Nummer sperren. Bitte keine Nummer verwenden, die Sie brauchen.",
    link: { label: "Entwicklerkonsole von Meta öffnen", href: "https://developers.facebook.com/apps" },
    steps: [
      "Eine App mit WhatsApp anlegen und drei Dinge notieren: die ID der Telefonnummer, ein Zugriffstoken eines Systemnutzers und den geheimen App-Code.",
      "`/webhook/whatsapp` dieses Servers über https erreichbar machen.",
      "Einen Verifizierungstoken wählen: `aethon-cli secrets set whatsapp-verify`, und ihn im Terminal in `channels.whatsapp.verify_token` nennen.",
    ],
    fields: [
      { key: "phone_number_id", label: "ID der Telefonnummer", isNeeded: true },
      { key: "token", label: "Zugriffstoken", isSecret: true, isNeeded: true },
      { key: "secret", label: "Geheimer App-Code", isSecret: true, isNeeded: true },
    ],
    people: { label: "Wer schreiben darf, nach Nummer", hint: "Nummern ohne `+`, eine je Zeile." },
    first: "In der Konsole die Adresse des Webhooks eintragen und `messages` abonnieren.",
  },
};

/** @type {typeof import("../channel-setup.js").setupWords} */
export const setupWords = {
  guides,
  setUp: "Einrichten",
  change: "Neu einrichten",
  test: "Prüfen",
  titleOf: (name) => `${name} einrichten`,
  testTitle: (name) => `${name} prüfen`,
  get: "Was Sie brauchen",
  give: "Was Aethon braucht",
  secretHint: "Wird als Zugangsdatum in Aethons Verzeichnis abgelegt, nie in der Konfiguration, und nie wieder gezeigt.",
  needed: (label) => `Bitte ausfüllen: ${label}.`,
  tryIt: "Prüfen",
  save: "Einrichten",
  trying: "Die Plattform wird gefragt",
  fine: "Die Plattform lässt Aethon ein.",
  refused: "Die Plattform lässt Aethon nicht ein:",
  checks: "Was geprüft wurde",
  passed: "in Ordnung",
  failed: "nicht in Ordnung",
  unknown: "Dieser Messenger wird nicht hier eingerichtet. Die Schritte stehen in docs/channels.md.",
  inTerminal:
    "Ohne Zugangstoken (`dashboard.auth_token`) könnte hier jeder an diesem Rechner einen Zugang öffnen. Deshalb geschieht das in einem Terminal, mit dem, was Sie gerade geprüft haben:",
  commands: "Befehle für das Terminal",
  confirm: "Ein Messenger öffnet einen Zugang zu Ihrem Assistenten; deshalb wird der Zugangstoken noch einmal verlangt.",
  done: (name) => `${name} ist eingerichtet.`,
  doneNow: "Er läuft ab jetzt.",
  doneRestart: "Er läuft, sobald Aethon neu startet. Starten Sie es dort neu, wo Sie es gestartet haben, zum Beispiel mit:",
  restart: "systemctl restart aethon",
  then: "Danach",
  code: "Code erstellen",
  waits: { label: "Startet mit Aethon", hint: "Läuft, sobald Aethon neu startet." },
  test_running: "Fragt die Plattform, ob Aethon eingelassen wird. Gesendet wird nichts.",
};
