// Sets up a messenger in a drawer: what to fetch where, the fields, a test at the platform, and what happens then. Secrets are typed
// here and kept as credentials; they are never part of a draft.

import { codeBox } from "../../../components/code.js";
import { openDrawer } from "../../../components/drawer.js";
import { field, form, textArea, textInput } from "../../../components/form.js";
import { button, note } from "../../../shared/controls.js";
import { openDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { sentence } from "../../../shared/sentence.js";
import { quoted } from "../../../shared/shell-quote.js";
import { visible } from "../../../shared/visible.js";
import { channelWords } from "../../../texts/channels.js";
import { shell } from "../../../texts/shell.js";
import { setupWords as words } from "../../../texts/channel-setup.js";
import { confirmWithToken } from "../config/confirm.js";

/** @import { Context } from "../../context.js" */
/** @import { ChannelCheck, ChannelSetUp, ChannelTested } from "../../../wire/api.js" */
/** @import { Path, Problem } from "../../../shared/api.js" */
/** @import { SetupField } from "../../../texts/channel-setup.js" */

/** @param {string} name */
const pathOf = (name) => `/api/channels/${encodeURIComponent(name)}`;
/** @param {string} name @returns {Path<ChannelTested>} */
const testPath = (name) => `${pathOf(name)}/test`;
/** @param {string} name @returns {Path<ChannelSetUp>} */
const setupPath = (name) => `${pathOf(name)}/setup`;

/** Whether this page knows how to set up a channel. @param {string} name */
export const canSetUp = (name) => Object.hasOwn(words.guides, name);

/** @param {string} name */
const nameOf = (name) => channelWords.names[name] ?? name;

/**
 * @param {Context} context @param {string} name
 * @param {{invite: () => void, changed: () => void, closed: () => void}} then
 */
export function openSetup(context, name, { invite, changed, closed }) {
  const guide = words.guides[name];
  const outcome = make("div", { class: "stack", role: "status" });
  const fields = Object.fromEntries(guide.fields.map((one) => [one.key, fieldOf(one)]));
  const people = field({
    label: guide.people.label,
    hint: guide.people.hint,
    control: textArea({ rows: 2, spellcheck: "false", class: "input mono" }),
  });
  const settings = () =>
    Object.fromEntries(
      Object.entries(fields)
        .map(([key, { control }]) => [key, control.value.trim()])
        .filter(([, value]) => value),
    );
  const allowed = () =>
    people.control.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  const missing = () => guide.fields.filter(({ key, isNeeded }) => isNeeded && !fields[key].control.value.trim());
  /** Marks the fields without which nothing can be tried. */
  const isComplete = () => {
    for (const one of Object.values(fields)) one.complain("");
    const gaps = missing();
    for (const { key, label } of gaps) fields[key].complain(words.needed(label));
    if (gaps.length > 0) fields[gaps[0].key].control.focus();
    return gaps.length === 0;
  };
  const test = async () => {
    fill(outcome, make("p", { class: "field-hint" }, words.trying));
    const tested = /** @type {ChannelTested} */ (
      await context.request(testPath(name), { method: "POST", body: { settings: settings() } })
    );
    fill(outcome, ...checkList(tested.ok, tested.checks));
    return tested;
  };
  const tryIt = button({ label: words.tryIt, press: () => void attempt() });
  const attempt = async () => {
    if (!isComplete()) return;
    tryIt.setAttribute("aria-disabled", "true");
    try {
      await test();
    } catch (fault) {
      tell(/** @type {Problem} */ (fault));
    }
    tryIt.removeAttribute("aria-disabled");
  };
  const tell = (/** @type {Problem} */ fault) => {
    fill(outcome);
    let isTold = false;
    for (const { field: key, message } of fault.errors ?? []) {
      const place = key === "allowed" ? people : fields[key];
      if (!place) continue;
      place.complain(message);
      place.control.focus();
      isTold = true;
    }
    if (!isTold) fill(outcome, note({ text: fault.errors?.[0]?.message ?? fault.message, tone: "bad", icon: "alert" }));
  };
  const send = async () => {
    if (!isComplete()) return false;
    fill(outcome);
    let tested;
    try {
      tested = await test();
    } catch (fault) {
      tell(/** @type {Problem} */ (fault));
      return false;
    }
    if (!tested.ok) return false;
    if (tested.saved_by === "terminal") {
      outcome.append(
        make("p", {}, ...sentence(words.inTerminal)),
        codeBox(terminalCommands(name, guide.fields, settings(), allowed()), words.commands),
      );
      return false;
    }
    const made = /** @type {{done: ChannelSetUp | null}} */ ({ done: null });
    await confirmWithToken({
      keys: [`channels.${name}.enabled`],
      describe: () => words.confirm,
      send: async (headers) => {
        made.done = await context.request(setupPath(name), {
          method: "POST",
          body: { settings: settings(), allowed: allowed() },
          headers,
        });
      },
    });
    if (!made.done) return false;
    for (const { key, isSecret } of guide.fields) if (isSecret) fields[key].control.value = "";
    changed();
    drawer.show({ body: doneBody(name, made.done, { invite, close: () => drawer.close() }) });
    return true;
  };
  const kept = Object.fromEntries(
    guide.fields.filter(({ isSecret }) => !isSecret).map(({ key }) => [key, fields[key]]),
  );
  const body = form({
    fields: kept,
    choices: { people },
    body: [
      make("h3", {}, words.get),
      guide.warning && note({ text: guide.warning, tone: "warn", icon: "alert" }),
      make("ol", { class: "setup-steps" }, ...guide.steps.map((step) => make("li", {}, ...sentence(step)))),
      guide.link &&
        make(
          "p",
          {},
          make("a", { class: "button", href: guide.link.href, target: "_blank", rel: "noreferrer" }, guide.link.label),
        ),
      make("h3", {}, words.give),
      ...Object.values(fields).map(({ element }) => element),
      people.element,
      make("div", {}, tryIt),
      outcome,
    ].filter((part) => part instanceof Node),
    submit: words.save,
    cancel: () => drawer.close(),
    send,
    draft: `channel:${name}`,
  });
  const drawer = openDrawer({ title: words.titleOf(nameOf(name)), body: [body], closed });
  Object.values(fields)[0].control.focus();
  return { close: () => drawer.close() };
}

/** @param {SetupField} one */
function fieldOf({ label, hint = "", isSecret = false, placeholder }) {
  return field({
    label,
    hint: [hint, isSecret && words.secretHint].filter(Boolean).join(" "),
    control: textInput({
      type: isSecret ? "password" : "text",
      autocomplete: isSecret ? "new-password" : "off",
      spellcheck: "false",
      autocapitalize: "none",
      maxlength: 4096,
      placeholder,
    }),
  });
}

/** What the platform said. @param {boolean} isFine @param {ChannelCheck[]} checks */
function checkList(isFine, checks) {
  return [
    note({ text: isFine ? words.fine : words.refused, tone: isFine ? undefined : "bad", icon: isFine ? "check" : "alert" }),
    make(
      "ul",
      { class: "setup-checks", role: "list", "aria-label": words.checks },
      ...checks.map(({ id, ok, detail }) =>
        make(
          "li",
          { data: { ok: String(ok) } },
          icon(ok ? "check" : "close"),
          make(
            "span",
            {},
            make("strong", {}, ...visible(id)),
            make("span", { class: "visually-hidden" }, ` ${ok ? words.passed : words.failed}`),
            ": ",
            ...visible(detail),
          ),
        ),
      ),
    ),
  ];
}

/**
 * The commands that do in a terminal what was tested here; the secrets are typed there.
 * @param {string} name @param {SetupField[]} known @param {Record<string, string>} settings @param {string[]} allowed
 * @returns {string}
 */
export function terminalCommands(name, known, settings, allowed) {
  const lines = [];
  for (const { key, isSecret } of known) {
    if (!settings[key]) continue;
    const credential = `${name}-${key.replaceAll("_", "-")}`;
    if (isSecret) lines.push(`aethon-cli secrets set ${credential}`);
    const value = isSecret ? `\${credential:${credential}}` : settings[key];
    lines.push(`aethon-cli config set channels.${name}.${key} ${quoted(value)}`);
  }
  if (allowed.length > 0)
    lines.push(`aethon-cli config set security.allowed_senders.${name} ${quoted(JSON.stringify(allowed))}`);
  lines.push(`aethon-cli config set channels.${name}.enabled true`);
  return lines.join("\n");
}

/** @param {string} name @param {ChannelSetUp} done @param {{invite: () => void, close: () => void}} then */
function doneBody(name, done, { invite, close }) {
  const isLater = done.needs_restart.length > 0;
  return [
    note({ title: words.done(nameOf(name)), text: isLater ? words.doneRestart : words.doneNow, icon: "check" }),
    isLater && codeBox(words.restart, words.doneRestart),
    ...done.warnings.map((text) => note({ text, tone: /** @type {const} */ ("warn"), icon: "alert" })),
    make("h3", {}, words.then),
    make("p", {}, ...sentence(words.guides[name].first)),
    make(
      "div",
      { class: "dialog-actions" },
      name !== "email" && button({ label: words.code, press: invite }),
      button({ label: shell.close, look: "button-primary", press: close }),
    ),
  ];
}

/** Tests a messenger as it is set up, and shows what its platform says. @param {Context} context @param {string} name */
export async function testChannel(context, name) {
  const body = make("div", { class: "stack", role: "status" }, make("p", { class: "field-hint" }, words.trying));
  const close = button({ label: shell.close, look: "button-primary", press: () => dialog.close() });
  const dialog = openDialog({
    title: words.testTitle(nameOf(name)),
    body: [make("p", { class: "is-soft" }, words.test_running), body],
    actions: [close],
  });
  close.focus();
  try {
    const { ok, checks } = await context.request(testPath(name), { method: "POST", body: {} });
    fill(body, ...checkList(ok, checks));
  } catch (fault) {
    fill(body, note({ text: /** @type {Error} */ (fault).message, tone: "bad", icon: "alert" }));
  }
}
