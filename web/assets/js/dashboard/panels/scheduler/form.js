// The form for a job, new or known. Fields that do not apply to the choices made are hidden; validation errors are shown at their
// fields. What others do to a known job meanwhile is said, and never overwritten unasked.

import { field, form, select, textArea, textInput } from "../../../components/form.js";
import { now } from "../../../shared/clock.js";
import { make } from "../../../shared/dom.js";
import { toast } from "../../../shared/toast.js";
import { shell } from "../../../texts/shell.js";
import { schedulerWords } from "../../../texts/scheduler.js";
import { statusPath } from "../../../shared/status-path.js";
import { sharedForm } from "../../shared-form.js";
import { bodyOf, freshValues, linesOf, valuesOf } from "./job-values.js";

/** @import { Job, SopList } from "../../../wire/api.js" */
/** @import { Context } from "../../context.js" */
/** @import { SharedItem } from "../../../shared/shared-item.js" */
/** @import { JobValues } from "./job-values.js" */
/** @import { Path } from "../../../shared/api.js" */


/** Where one is added. @type {Path<Job>} */ const addPath = "/api/scheduler/jobs";
/** @type {Path<SopList>} */ const sopsPath = "/api/sops";

const words = schedulerWords.form;

/** What the draft of a job is called. @param {string} id empty for a new one */
export const jobDraft = (id) => `job:${id}`;

/** @param {Context} context @param {{cancel: () => void, done: (job: Job) => void}} after */
export function jobForm(context, { cancel, done }) {
  const parts = jobFields(context, null);
  const send = async () => {
    if (!parts.isWhole()) return false;
    const body = { job_id: parts.fields.job_id.control.value.trim() || undefined, ...bodyOf(parts.written(), null) };
    const job = await context.request(addPath, { method: "POST", body });
    toast(words.added);
    done(job);
    return true;
  };
  return parts.build({ submit: words.submit, cancel, send, draft: jobDraft("") });
}

/**
 * @param {Context} context @param {SharedItem<Job>} item the job, as it was read
 * @param {{cancel: () => void, done: (job: Job) => void, gone: () => void, signal: AbortSignal}} after
 */
export function jobEditor(context, item, { cancel, done, gone, signal }) {
  const id = item.known.job_id;
  const parts = jobFields(context, item.known);
  const shared = sharedForm({
    item,
    name: id,
    signal,
    written: parts.written,
    write: parts.write,
    read: (job) => valuesOf(job, parts.fresh),
    asText: linesOf,
    gone,
  });
  const send = async () => {
    if (!parts.isWhole()) return false;
    const values = parts.written();
    const change = { method: "PUT", body: bodyOf(values, valuesOf(item.known, parts.fresh)) };
    const { outcome, data } = await shared.save(change, () =>
      context.request(addPath, { method: "POST", body: { job_id: id, ...bodyOf(values, null) } }),
    );
    if (outcome !== "saved") return false;
    toast(words.saved);
    if (data) done(data);
    return true;
  };
  return parts.build({ submit: shell.save, cancel, send, draft: jobDraft(id), notice: shared.notice });
}

/** @param {Context} context @param {Job | null} job */
function jobFields(context, job) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const known = context.store.get(statusPath)?.value?.channels ?? ["webchat"];
  const fresh = freshValues({ zone, channels: known, now: now() });
  const begun = job ? valuesOf(job, fresh) : fresh;
  // A channel that is switched off stays what the job says.
  const channels = known.includes(begun.channel) || !begun.channel ? known : [...known, begun.channel];
  const tries = ["0", "1", "2", "3", "5"];
  if (!tries.includes(begun.retries)) tries.push(begun.retries);
  const mono = { class: "input mono", spellcheck: "false" };
  const fields = {
    job_id: field({
      label: words.id,
      control: textInput({ maxlength: 64, spellcheck: "false", value: job?.job_id ?? "" }),
      hint: words.idHint,
      hidden: job !== null,
    }),
    prompt: field({
      label: words.prompt,
      control: textArea({ rows: 4, value: begun.prompt }),
      hint: words.promptHint,
    }),
    sop_name: field({
      label: words.sop,
      control: select(begun.sop_name ? [[begun.sop_name, begun.sop_name]] : [], begun.sop_name),
      hidden: true,
    }),
    input: field({
      label: words.input,
      control: textInput({ value: begun.input }),
      hint: words.inputHint(""),
      hidden: true,
    }),
    cron: field({ label: words.cron, control: textInput({ ...mono, value: begun.cron }), hint: words.cronHint }),
    timezone: field({ label: words.zone, control: textInput({ value: begun.timezone, spellcheck: "false" }) }),
    run_at: field({
      label: words.runAt,
      control: textInput({ type: "datetime-local", value: begun.run_at }),
      hidden: true,
    }),
    channel: field({
      label: words.channel,
      control: select(
        channels.map((name) => [name, name]),
        begun.channel,
      ),
    }),
    recipient: field({
      label: words.recipient,
      control: textInput({ value: begun.recipient }),
      hint: words.recipientHint,
    }),
    missed: field({ label: words.missed, control: select(Object.entries(schedulerWords.missed), begun.missed) }),
    retries: field({
      label: words.retries,
      control: select(
        tries.map((n) => [n, schedulerWords.retries(Number(n))]),
        begun.retries,
      ),
    }),
  };
  const choices = {
    task: field({ label: words.task, control: select(words.tasks, begun.task, () => arrange()) }),
    when: field({ label: words.when, control: select(words.whens, begun.when, () => arrange()) }),
  };
  const preset = select(words.presets, "", (value) => {
    if (value) fields.cron.control.value = value;
  });
  const presetField = field({ label: words.preset, control: preset });
  const isSop = () => choices.task.control.value === "sop";
  const isOnce = () => choices.when.control.value === "once";
  const arrange = () => {
    fields.prompt.element.hidden = isSop();
    fields.sop_name.element.hidden = fields.input.element.hidden = !isSop();
    fields.run_at.element.hidden = !isOnce();
    fields.cron.element.hidden = fields.timezone.element.hidden = presetField.element.hidden = isOnce();
  };
  void offerSops(context, fields.sop_name.control, (names) => {
    const hint = fields.input.element.querySelector(".field-hint");
    if (hint) hint.textContent = words.inputHint(names);
  });
  const { job_id: _, ...told } = fields;
  const controls = Object.entries({ ...choices, ...told });

  const written = () =>
    /** @type {JobValues} */ (Object.fromEntries(controls.map(([name, { control }]) => [name, control.value])));
  const write = (/** @type {JobValues} */ values) => {
    for (const [name, { control }] of controls) {
      const text = values[/** @type {keyof JobValues} */ (name)];
      if (control instanceof HTMLSelectElement && ![...control.options].some(({ value }) => value === text))
        control.append(make("option", { value: text }, text));
      control.value = text;
    }
    arrange();
  };
  /** Says what is missing, in words about the form; whether nothing is. */
  const isWhole = () => {
    const empty = isSop()
      ? !fields.sop_name.control.value && /** @type {const} */ (["sop_name", words.needsSop])
      : !fields.prompt.control.value.trim() && /** @type {const} */ (["prompt", words.needsPrompt]);
    const early = isOnce()
      ? !fields.run_at.control.value && /** @type {const} */ (["run_at", words.needsTime])
      : !fields.cron.control.value.trim() && /** @type {const} */ (["cron", words.needsCron]);
    const missing = [empty, early].filter((one) => one !== false);
    for (const [name, says] of missing) fields[name].complain(says);
    if (missing[0]) fields[missing[0][0]].control.focus();
    return missing.length === 0;
  };
  /** @param {{submit: string, cancel: () => void, send: () => Promise<unknown>, draft: string, notice?: HTMLElement}} options */
  const build = ({ notice, ...options }) => {
    arrange();
    // While an SOP is chosen, the server's errors about the prompt concern the SOP's values.
    const known = {
      ...fields,
      get prompt() {
        return isSop() ? fields.input : fields.prompt;
      },
    };
    const row = (/** @type {Node[]} */ ...nodes) => make("div", { class: "field-row" }, ...nodes);
    const body = [
      fields.job_id.element,
      choices.task.element,
      fields.prompt.element,
      row(fields.sop_name.element, fields.input.element),
      choices.when.element,
      row(fields.cron.element, presetField.element),
      fields.timezone.element,
      fields.run_at.element,
      row(fields.channel.element, fields.recipient.element),
      row(fields.missed.element, fields.retries.element),
      ...(notice ? [notice] : []),
    ];
    return form({ fields: known, body, choices, ...options });
  };
  return { fields, fresh, written, write, isWhole, build };
}

/** @param {Context} context @param {HTMLSelectElement} choice @param {(names: string) => void} chosen */
async function offerSops(context, choice, chosen) {
  try {
    const { sops = [] } = await context.request(sopsPath);
    const wanted = choice.dataset.wanted ?? choice.value;
    choice.replaceChildren(
      ...sops.map((sop) => make("option", { value: sop.name }, sop.title || sop.name)),
    );
    // What the job runs stays chosen, even if it is not there any more.
    if (wanted && !sops.some((sop) => sop.name === wanted))
      choice.append(make("option", { value: wanted }, wanted));
    if (wanted) choice.value = wanted;
    const tell = () => {
      const sop = sops.find((entry) => entry.name === choice.value);
      chosen(
        (sop?.parameters ?? [])
          .filter((parameter) => parameter.required)
          .map((parameter) => parameter.name)
          .join(", "),
      );
    };
    choice.addEventListener("change", tell);
    tell();
  } catch {
    // Without the list nothing can be chosen, and the server reports that.
  }
}
