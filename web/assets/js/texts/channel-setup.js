// The words of setting up a messenger. Each has its steps and fields; the server has the same list of settings (channel_setup.rs).

import { translated } from "../shared/language.js";

/**
 * A field of the form: `key` is the name of the setting in its section, `isSecret` says that it is kept as a credential.
 * @typedef {{key: string, label: string, hint?: string, isSecret?: boolean, isNeeded?: boolean, placeholder?: string}} SetupField
 * @typedef {{steps: string[], link?: {label: string, href: string}, fields: SetupField[], people: {label: string, hint: string},
 *   first: string, warning?: string}} SetupGuide `first` says what to do once it runs
 */

export const setupWords = translated("channel-setup", {
  guides: /** @type {Record<string, SetupGuide>} */ ({
    telegram: {
      link: { label: "Open BotFather", href: "https://t.me/BotFather" },
      steps: [
        "In Telegram, write to @BotFather and send `/newbot`.",
        "Choose a name for your assistant, and one that ends in `bot`.",
        "BotFather answers with a token. Paste it here.",
      ],
      fields: [
        {
          key: "token",
          label: "Token of the bot",
          isSecret: true,
          isNeeded: true,
          hint: "It looks like `123456789:AAH…`.",
        },
      ],
      people: {
        label: "Who may write, by id",
        hint: "Numbers, one a line. Leave it empty to let yourself in with a code instead, which is easier.",
      },
      first: "Open a private chat with your bot and send it `/pair` with the code.",
    },
    discord: {
      link: { label: "Open the developer portal", href: "https://discord.com/developers/applications" },
      steps: [
        "In the developer portal, create an application. Under Bot, reset the token and copy it.",
        "Under Installation, choose Guild Install with the scopes `bot` and `applications.commands`, and the permissions Send Messages, Read Message History and Attach Files.",
        "Open the install link there, and add the bot to one of your servers.",
      ],
      fields: [{ key: "token", label: "Token of the bot", isSecret: true, isNeeded: true }],
      people: { label: "Who may write, by id", hint: "Ids of users, one a line. Leave it empty to use a code instead." },
      first: "Send the bot `/pair` with the code in a direct message.",
    },
    slack: {
      link: { label: "Open your Slack apps", href: "https://api.slack.com/apps" },
      steps: [
        "Create an app from a manifest; docs/channels.md has the manifest to paste.",
        "Under Basic Information, App-Level Tokens, make a token with the scope `connections:write`.",
        "Install the app. Under OAuth & Permissions, copy the token of the bot.",
      ],
      fields: [
        {
          key: "bot_token",
          label: "Token of the bot",
          isSecret: true,
          isNeeded: true,
          hint: "It begins with `xoxb-`.",
        },
        { key: "app_token", label: "App-level token", isSecret: true, isNeeded: true, hint: "It begins with `xapp-`." },
      ],
      people: { label: "Who may write, by id", hint: "Ids such as `U012AB3CD`, one a line. Leave it empty to use a code instead." },
      first: "Send the app `/pair` with the code in its Messages tab.",
    },
    matrix: {
      steps: [
        "Register an account for the assistant on your homeserver, and sign in with it once.",
        "Copy its access token (in Element: Settings, Help & About, Advanced), and do not sign out of that session.",
      ],
      fields: [
        {
          key: "api_base",
          label: "Address of the homeserver",
          isNeeded: true,
          placeholder: "https://matrix.example.org",
        },
        { key: "user_id", label: "Its user", hint: "Such as `@aethon:example.org`. A token of another account is then refused." },
        { key: "token", label: "Access token", isSecret: true, isNeeded: true },
      ],
      people: { label: "Who may write", hint: "Users such as `@ada:example.org`, one a line." },
      first: "Create a room without encryption and invite the assistant.",
    },
    email: {
      steps: [
        "Give the assistant a mailbox of its own: it marks mail from people who may write as read.",
        "In the source of a mail that arrived there, find the name at the beginning of the topmost `Authentication-Results` line. It proves who wrote a mail.",
        "Gmail needs an app password. A server that takes no passwords is set up in the terminal (`channels.email.oauth_command`).",
      ],
      fields: [
        { key: "imap_host", label: "IMAP server", isNeeded: true, placeholder: "imap.example.org" },
        { key: "smtp_host", label: "SMTP server", isNeeded: true, placeholder: "smtp.example.org" },
        { key: "username", label: "Name of the account", isNeeded: true, placeholder: "assistant@example.org" },
        { key: "password", label: "Password", isSecret: true, isNeeded: true },
        {
          key: "authserv_id",
          label: "Name in Authentication-Results",
          isNeeded: true,
          placeholder: "mx.example.org",
        },
      ],
      people: { label: "Who may write", hint: "Mail addresses, one a line. No one else is answered." },
      first: "Send it a mail.",
    },
    whatsapp: {
      warning:
        "Meta’s terms bar general-purpose assistants on WhatsApp, and Meta can close the number. Do not use a number that you need.",
      link: { label: "Open Meta’s developer console", href: "https://developers.facebook.com/apps" },
      steps: [
        "Create an app with WhatsApp, and note the id of the phone number, an access token of a system user, and the secret of the app.",
        "Make `/webhook/whatsapp` of this server reachable by https.",
        "Choose a verify token: `aethon-cli secrets set whatsapp-verify`, and name it in `channels.whatsapp.verify_token` in the terminal.",
      ],
      fields: [
        { key: "phone_number_id", label: "Id of the phone number", isNeeded: true },
        { key: "token", label: "Access token", isSecret: true, isNeeded: true },
        { key: "secret", label: "Secret of the app", isSecret: true, isNeeded: true },
      ],
      people: { label: "Who may write, by number", hint: "Numbers without `+`, one a line." },
      first: "In the console, register the address of the webhook and subscribe to `messages`.",
    },
  }),

  setUp: "Set up",
  change: "Set up again",
  test: "Test",
  titleOf: (/** @type {string} */ name) => `Set up ${name}`,
  testTitle: (/** @type {string} */ name) => `Test ${name}`,
  get: "What you need",
  give: "What Aethon needs",
  secretHint: "Kept as a credential in Aethon’s home, never in the configuration, and never shown again.",
  needed: (/** @type {string} */ label) => `${label} is needed.`,
  tryIt: "Test it",
  save: "Set it up",
  trying: "Asking the platform",
  fine: "The platform lets Aethon in.",
  refused: "The platform does not let Aethon in:",
  checks: "What was checked",
  passed: "in order",
  failed: "not in order",
  unknown: "This messenger is not set up here. docs/channels.md has the steps.",
  inTerminal:
    "Without an access token (`dashboard.auth_token`) anyone on this machine could open a way in here. So this is done in a terminal, with what you have just tested:",
  commands: "Commands for the terminal",
  confirm: "Setting up a messenger opens a way in to your assistant, so it takes the access token once more.",
  done: (/** @type {string} */ name) => `${name} is set up.`,
  doneNow: "It runs from now on.",
  doneRestart: "It runs when Aethon starts again. Restart it where you started it, for example with:",
  restart: "systemctl restart aethon",
  then: "Then",
  code: "Make a code",
  waits: { label: "Starts with Aethon", hint: "Restart Aethon to let it run." },
  test_running: "Asks the platform whether Aethon is let in. Nothing is sent.",
});
