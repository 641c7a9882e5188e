// The form for a new job. Fields that do not apply to the choices made are hidden; validation errors are shown at their fields.

import { field, form, select, textArea, textInput } from "../../../components/form.js";
import { make } from "../../../shared/dom.js";
import { toast } from "../../../shared/toast.js";
import { schedulerWords } from "../../../texts/scheduler.js";
import { statusPath } from "../../facts.js";

/** @import { Job, Sop, SopParameter } from "../../../wire/api.js" */

const words = schedulerWords.form;

/** @param {import("../../context.js").Context} context @param {{cancel: () => void, done: (job: Job) => void}} after */
export function jobForm(context, { cancel, done }) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const channels = context.store.get(statusPath)?.value?.channels ?? ["webchat"];
  const fields = {
    job_id: field({ label: words.id, control: textInput({ maxlength: 64, spellcheck: "false" }), hint: words.idHint }),
    prompt: field({ label: words.prompt, control: textArea({ rows: 4 }), hint: words.promptHint }),
    sop_name: field({ label: words.sop, control: select([], ""), hidden: true }),
    input: field({ label: words.input, control: textInput(), hint: words.inputHint(""), hidden: true }),
    cron: field({
      label: words.cron,
      control: textInput({ class: "input mono", value: "0 8 * * *", spellcheck: "false" }),
      hint: words.cronHint,
    }),
    timezone: field({ label: words.zone, control: textInput({ value: zone, spellcheck: "false" }) }),
    run_at: field({
      label: words.runAt,
      control: textInput({ type: "datetime-local", value: localText(new Date(Date.now() + 3600000)) }),
      hidden: true,
    }),
    channel: field({
      label: words.channel,
      control: select(
        channels.map((/** @type {string} */ name) => [name, name]),
        channels.includes("webchat") ? "webchat" : channels[0],
      ),
    }),
    recipient: field({ label: words.recipient, control: textInput(), hint: words.recipientHint }),
    missed: field({ label: words.missed, control: select(Object.entries(schedulerWords.missed), "skip") }),
    retries: field({
      label: words.retries,
      control: select(
        ["0", "1", "2", "3", "5"].map((n) => [n, schedulerWords.retries(Number(n))]),
        "0",
      ),
    }),
  };
  let isSop = false;
  let isOnce = false;
  const arrange = () => {
    fields.prompt.element.hidden = isSop;
    fields.sop_name.element.hidden = fields.input.element.hidden = !isSop;
    fields.run_at.element.hidden = !isOnce;
    fields.cron.element.hidden = fields.timezone.element.hidden = presetField.element.hidden = isOnce;
  };
  const task = field({
    label: words.task,
    control: select(words.tasks, "prompt", (value) => {
      isSop = value === "sop";
      arrange();
    }),
  });
  const when = field({
    label: words.when,
    control: select(words.whens, "cron", (value) => {
      isOnce = value === "once";
      arrange();
    }),
  });
  const preset = select(words.presets, "", (value) => {
    if (value) fields.cron.control.value = value;
  });
  const presetField = field({ label: words.preset, control: preset });
  void offerSops(context, fields.sop_name.control, (names) => {
    const hint = fields.input.element.querySelector(".field-hint");
    if (hint) hint.textContent = words.inputHint(names);
  });

  const send = async () => {
    const value = (/** @type {keyof typeof fields} */ name) => fields[name].control.value.trim() || undefined;
    const at = fields.run_at.control.value;
    const body = {
      job_id: value("job_id"),
      ...(isSop ? { sop_name: value("sop_name"), prompt: value("input") } : { prompt: value("prompt") }),
      ...(isOnce ? { run_at: at && new Date(at).toISOString() } : { cron: value("cron"), timezone: value("timezone") }),
      channel: value("channel"),
      recipient: value("recipient"),
      missed: value("missed"),
      retries: Number(fields.retries.control.value),
    };
    const job = await context.request("/api/scheduler/jobs", { method: "POST", body });
    toast(words.added);
    done(job);
  };
  const body = [
    fields.job_id.element,
    task.element,
    fields.prompt.element,
    make("div", { class: "field-row" }, fields.sop_name.element, fields.input.element),
    when.element,
    make("div", { class: "field-row" }, fields.cron.element, presetField.element),
    fields.timezone.element,
    fields.run_at.element,
    make("div", { class: "field-row" }, fields.channel.element, fields.recipient.element),
    make("div", { class: "field-row" }, fields.missed.element, fields.retries.element),
  ];
  arrange();
  // While an SOP is chosen, the server's errors about the prompt concern the SOP's values.
  const known = {
    ...fields,
    get prompt() {
      return isSop ? fields.input : fields.prompt;
    },
  };
  return form({ fields: known, body, submit: words.submit, cancel, send });
}

/** @param {import("../../context.js").Context} context @param {HTMLSelectElement} choice @param {(names: string) => void} chosen */
async function offerSops(context, choice, chosen) {
  try {
    const { sops = [] } = await context.request("/api/sops");
    choice.append(...sops.map((/** @type {Sop} */ sop) => make("option", { value: sop.name }, sop.title || sop.name)));
    const tell = () => {
      const sop = sops.find((/** @type {Sop} */ entry) => entry.name === choice.value);
      chosen(
        (sop?.parameters ?? [])
          .filter((/** @type {SopParameter} */ parameter) => parameter.required)
          .map((/** @type {SopParameter} */ parameter) => parameter.name)
          .join(", "),
      );
    };
    choice.addEventListener("change", tell);
    tell();
  } catch {
    // Without the list nothing can be chosen, and the server reports that.
  }
}

/** Formats a date for a `datetime-local` field. @param {Date} date */
function localText(date) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
