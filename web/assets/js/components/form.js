// Form and filter fields: text, select, switch, search; and a form that shows the server's validation errors at their fields.

import { button } from "../shared/controls.js";
import { draftFor } from "../shared/draft.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { mayDiscard, watchUnsaved } from "../shared/unsaved.js";
import { shell } from "../texts/shell.js";

/** @import { Problem } from "../shared/api.js" */

let count = 0;
const freshId = () => `field-${(count += 1)}`;

/**
 * A label, a control, a hint and a place for an error.
 * @template {HTMLElement} [Control=HTMLElement]
 * @param {{label: string, control: Control, hint?: string, hidden?: boolean}} options
 */
export function field({ label, control, hint, hidden = false }) {
  const id = control.id || freshId();
  control.id = id;
  const error = make("p", { class: "field-error", id: `${id}-error` });
  const about = hint && make("p", { class: "field-hint", id: `${id}-hint` }, ...sentence(hint));
  control.setAttribute("aria-describedby", [hint && `${id}-hint`, `${id}-error`].filter(Boolean).join(" "));
  const element = make("div", { class: "field", hidden }, make("label", { for: id }, label), control, about, error);
  const complain = (/** @type {string} */ words) => {
    // The server's words go on from the name of the field.
    fill(error, ...sentence(/^\p{Ll}/u.test(words) ? `${label} ${words}` : words));
    control.setAttribute("aria-invalid", String(words !== ""));
  };
  return { element, control, complain };
}

/** @param {Record<string, unknown>} [attributes] */
export const textInput = (attributes = {}) => make("input", { class: "input", autocomplete: "off", ...attributes });

/** @param {Record<string, unknown>} [attributes] */
export const textArea = (attributes = {}) => make("textarea", { class: "input", ...attributes });

/**
 * @param {[string, string][]} options value and words
 * @param {string} value
 * @param {(value: string) => void} [change]
 * @param {string} [label] its name, unless a `field` gives one
 */
export function select(options, value, change, label) {
  const element = make(
    "select",
    { class: "input", "aria-label": label },
    ...options.map(([key, words]) => make("option", { value: key, selected: key === value }, words)),
  );
  if (change) element.addEventListener("change", () => change(element.value));
  return element;
}

/**
 * A switch that acts at once. `change` may return a promise; if it rejects, the switch flips back.
 * @param {{label: string, isOn: boolean, change: (isOn: boolean) => unknown, isHidden?: boolean}} options `isHidden`:
 *   the label is for screen readers only
 */
export function toggle({ label, isOn, change, isHidden = false }) {
  const control = make("button", {
    type: "button",
    role: "switch",
    "aria-checked": String(isOn),
    "aria-label": label,
    title: isHidden ? label : undefined,
  });
  control.addEventListener("click", async () => {
    const wanted = control.getAttribute("aria-checked") !== "true";
    control.setAttribute("aria-checked", String(wanted));
    try {
      await change(wanted);
    } catch {
      control.setAttribute("aria-checked", String(!wanted));
    }
  });
  const set = (/** @type {boolean} */ now) => control.setAttribute("aria-checked", String(now));
  return {
    element: make("span", { class: "switch" }, control, !isHidden && make("span", { "aria-hidden": "true" }, label)),
    set,
  };
}

/**
 * A search field that reports its text once the user stops typing.
 * @param {{label: string, placeholder?: string, value?: string, change: (text: string) => void, delay?: number}} options
 */
export function searchField({ label, placeholder = label, value = "", change, delay = 200 }) {
  const input = make("input", {
    class: "input",
    type: "search",
    value,
    placeholder,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 500,
  });
  const clear = make(
    "button",
    {
      type: "button",
      class: "icon-button icon-button-small",
      "aria-label": shell.clearSearch,
      title: shell.clearSearch,
      hidden: value === "",
    },
    icon("close"),
  );
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let timer;
  const tell = () => {
    clearTimeout(timer);
    clear.hidden = input.value === "";
    if (delay === 0) change(input.value);
    else timer = setTimeout(() => change(input.value), delay);
  };
  input.addEventListener("input", tell);
  clear.addEventListener("click", () => {
    input.value = "";
    tell();
    input.focus();
  });
  const set = (/** @type {string} */ text) => {
    input.value = text;
    clear.hidden = text === "";
  };
  return { element: make("div", { class: "search grow" }, icon("search"), input, clear), input, set };
}

/**
 * A form with its buttons. Validation errors of the server are shown at their fields, or below if no field matches. What is typed
 * in it is thrown away only after a question.
 * @param {{fields: Record<string, ReturnType<typeof field>>, body: Node[], submit: string, cancel?: () => void, send:
 *   () => Promise<unknown>, isKept?: boolean, draft?: string, choices?: Record<string, ReturnType<typeof field>>}} options
 *   `send` returns false if what was typed is still to be saved; `isKept` is false where nothing typed is worth a question, or
 *   where the caller watches over it; `draft` names what is edited, so that it outlives a reload, and `choices` are fields that
 *   the server does not know, but a draft has
 */
export function form({ fields, body, submit, cancel, send, isKept = true, draft = "", choices = {} }) {
  const problem = make("p", { class: "field-error form-problem", role: "alert" });
  const go = button({ label: submit, look: "button-primary", type: "submit" });
  const element = make("form", { class: "form", novalidate: true });
  const controls = Object.entries({ ...choices, ...fields }).map(([name, { control }]) => [name, control]);
  const kept = draft ? draftFor({ item: draft, host: element, controls: Object.fromEntries(controls) }) : null;
  fill(
    element,
    kept?.notice,
    ...body,
    problem,
    make("div", { class: "form-actions" }, cancel && button({ label: shell.cancel, press: () => void turnAway() }), go),
  );
  const turnAway = async () => (await mayDiscard()) && cancel?.();
  /** @type {Map<EventTarget, string>} What stood in each field at the beginning. */
  const before = new Map(
    [...element.querySelectorAll("input, textarea, select")].map((control) => [
      control,
      /** @type {HTMLInputElement} */ (control).value,
    ]),
  );
  /** @type {Set<EventTarget>} The fields that the user has changed, and not the page. */ const touched = new Set();
  for (const kind of ["input", "change"]) element.addEventListener(kind, ({ target }) => target && touched.add(target));
  const isUnsaved = () => [...touched].some((control) => "value" in control && control.value !== before.get(control));
  if (isKept) watchUnsaved(element, isUnsaved, kept?.drop);
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (go.getAttribute("aria-disabled") === "true") return;
    go.setAttribute("aria-disabled", "true");
    for (const known of Object.values(fields)) known.complain("");
    fill(problem);
    try {
      if ((await send()) !== false) {
        touched.clear();
        kept?.drop();
      }
    } catch (fault) {
      complain(fields, problem, /** @type {Problem} */ (fault));
    }
    go.removeAttribute("aria-disabled");
  });
  kept?.begin();
  return element;
}

/** @param {Record<string, ReturnType<typeof field>>} fields @param {HTMLElement} problem @param {Problem} fault */
function complain(fields, problem, fault) {
  const rest = [];
  let first = /** @type {HTMLElement | null} */ (null);
  for (const { field: name, message } of fault.errors ?? []) {
    const known = fields[name];
    if (known && !known.element.hidden) {
      known.complain(message);
      first ??= known.control;
    } else rest.push(`${name} ${message}`);
  }
  if (!first && rest.length === 0) rest.push(fault.message);
  fill(problem, ...sentence(rest.join(" ")));
  first?.focus();
}
