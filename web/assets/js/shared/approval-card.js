// The card on which a user approves or denies a tool call: one question, exactly what would run, and two buttons; everything else is
// folded. No button has the focus and none is the default; presses in the first moments are ignored, because they may have been meant for something else. The user may edit
// the arguments; those sent are the ones that run, if the rules accept them. If it is decided elsewhere meanwhile, what was typed
// stays, to be copied.

import { texts } from "../texts.js";
import { now } from "./clock.js";
import { argumentFields } from "./argument-fields.js";
import { asking } from "../texts/asking.js";
import { askedCall, wholeInput, questionOf } from "./asked-call.js";
import { badge, button } from "./controls.js";
import { copyButton } from "./copy.js";
import { draftFor } from "./draft.js";
import { draftOf } from "./draft-store.js";
import { fill, make } from "./dom.js";
import { icon } from "./icons.js";
import { sentence } from "./sentence.js";
import { asText, hasOddCharacters } from "./sheet.js";
import { countdown } from "./time.js";
import { isOdd, visible, visibleText } from "./visible.js";

const graceMs = 500;

/**
 * @typedef {{id: string, tool: string, input: unknown, summary: string, expires_at: string | null, decision: "approve" | "deny" | null,
 *   reason: string | null, sending: boolean, origin?: string, why?: string, preview?: string, session_scope?: string,
 *   fault?: string, edited?: boolean}} Asked
 * @typedef {{scope?: "session", input?: unknown}} Terms
 */

/**
 * @param {Asked} asked
 * @param {(decision: "approve" | "deny", terms: Terms) => void} decide
 * @returns {{element: HTMLElement, update: () => void, isKept: () => boolean, hasTyped: () => boolean}} `isKept`: whether it is decided and
 *   holds what the user typed and has not put away; `hasTyped`: whether it holds such a text, decided or not
 */
export function approvalCard(asked, decide) {
  const element = make("section", {
    class: "approval",
    role: "group",
    tabindex: "0",
    "aria-label": texts.approval.title(visibleText(asked.tool)),
    "aria-keyshortcuts": "A D ArrowDown ArrowUp",
  });
  const shownAt = Date.now();
  const send = (/** @type {"approve" | "deny"} */ decision, /** @type {Terms} */ terms = {}) => {
    if (asked.sending || Date.now() - shownAt < graceMs) return;
    isDecidedHere = true;
    decide(decision, terms);
  };
  const approve = button({ label: texts.approval.approve, icon: "check", press: () => send("approve") });
  const always = button({ label: texts.approval.always, press: () => send("approve", { scope: "session" }) });
  const edit = button({ label: texts.approval.edit, press: () => open() });
  const deny = button({ label: texts.approval.deny, icon: "close", press: () => send("deny") });
  const remaining = make("span", { class: "approval-time" });
  const actions = make("div", { class: "approval-actions" }, approve, deny, remaining);
  const call = askedCall(asked);
  const more = moreOf(asked, { choices: asked.session_scope ? [edit, always] : [edit], isWhole: call.isWhole });
  const fault = make("p", { class: "approval-fault", role: "alert" });
  const editing = make("div", { class: "approval-edit" });
  let isSettled = false;
  let isDecidedHere = false;
  /** @type {ReturnType<typeof argumentFields> | null} The arguments that are being edited. */ let fields = null;
  let isKept = false;
  const item = approvalDraft(asked.id);
  /** @type {ReturnType<typeof draftFor> | null} */ let draft = null;

  // While arguments are edited, the fields replace the buttons that would run the original call: next to edited arguments,
  // "allow" must mean those.
  const offer = (/** @type {boolean} */ isOffered) => {
    for (const choice of [approve, always, edit]) choice.hidden = !isOffered;
    more.hidden = !isOffered;
  };
  const open = (isPressed = true) => {
    const edited = argumentFields(asked.input);
    fields = edited;
    draft = draftFor({ item, host: editing, controls: edited.boxes });
    const take = button({
      label: texts.approval.takeEdit,
      icon: "check",
      press: () => {
        const { input, problem } = edited.read();
        fault.textContent = problem;
        if (!problem) send("approve", { input });
      },
    });
    const back = button({
      label: texts.approval.noEdit,
      press: () => {
        fill(editing);
        draft?.drop();
        fields = null;
        fault.textContent = "";
        offer(true);
        edit.focus();
      },
    });
    fill(editing, draft.notice, ...edited.elements, make("div", { class: "approval-actions" }, take, back));
    offer(false);
    draft.begin();
    if (isPressed) edited.focus();
  };

  fill(
    element,
    make(
      "div",
      { class: "approval-head" },
      icon("shield"),
      make("h3", {}, ...visible(questionOf(asked.tool))),
    ),
    tellsMore(asked) && make("p", { class: "approval-summary" }, ...visible(asked.summary)),
    ...call.elements,
    (isOdd(asked.tool) || isOdd(asked.summary ?? "") || isOdd(asked.preview ?? "") || hasOddCharacters(asked.input)) &&
      badge(texts.approval.odd, "bad", "alert"),
    (asked.why || asked.origin) &&
      make(
        "p",
        { class: "field-hint approval-why" },
        ...(asked.why ? sentence(texts.approval.why(asked.why)) : []),
        " ",
        asked.origin && make("span", { class: "approval-origin" }, ...visible(asked.origin)),
      ),
    actions,
    fault,
    editing,
    more,
  );
  element.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (event.target !== element || ctrlKey || metaKey || altKey || isSettled) return;
    const isOriginal = fields === null;
    if (key === "ArrowDown" || key === "ArrowUp") goToNext(element, key === "ArrowDown" ? 1 : -1);
    else if (key === "d" || key === "D") send("deny");
    else if ((key === "a" || key === "A") && isOriginal) send("approve");
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const tick = () => {
    if (isSettled || !asked.expires_at) return;
    const left = (Date.parse(asked.expires_at) - now()) / 1000;
    remaining.textContent = asked.sending ? texts.approval.sending : texts.approval.remaining(countdown(left));
    if (left > 0) setTimeout(tick, 1000);
  };
  const update = () => {
    // Disabling a button would lose the focus.
    for (const choice of element.querySelectorAll(".approval-actions button"))
      choice.setAttribute("aria-disabled", String(asked.sending));
    if (asked.fault !== undefined && !asked.sending) fault.textContent = asked.fault;
    if (!asked.decision && !asked.sending) isDecidedHere = false;
    if (!asked.decision || isSettled) return;
    isSettled = true;
    const hadFocus = element.contains(document.activeElement);
    const isPerson = asked.reason === "user" || !asked.reason;
    const outcome = isPerson ? asked.decision : (asked.reason ?? "");
    const { done, elsewhere } = texts.approval;
    const words =
      isPerson && !isDecidedHere
        ? elsewhere[asked.decision]
        : ((asked.edited ? done.edited : done[outcome]) ?? done.deny);
    const isAllowed = asked.decision === "approve";
    // The call is shown in the line of the tool; only the outcome remains here, and the user’s discarded edits.
    const typed = isDecidedHere && (asked.edited || !isAllowed) ? [] : (fields?.typed() ?? []);
    const verdict = [
      badge(words, isAllowed ? "good" : "bad", isAllowed ? "check" : "close"),
      make("span", {}, ...visible(asked.tool)),
    ];
    isKept = typed.length > 0;
    if (!isKept) draft?.drop();
    element.classList.toggle("approval-settled", !isKept);
    if (isKept)
      fill(
        element,
        make("div", { class: "approval-head", role: "status" }, ...verdict),
        typedTexts(typed),
        make(
          "div",
          { class: "approval-actions" },
          button({ label: texts.approval.putAway, press: () => putAway(verdict) }),
        ),
      );
    else fill(element, ...verdict);
    element.tabIndex = -1;
    if (hadFocus) element.focus({ preventScroll: true });
  };
  const putAway = (/** @type {Node[]} */ verdict) => {
    isKept = false;
    draft?.drop();
    element.classList.add("approval-settled");
    fill(element, ...verdict);
    element.focus({ preventScroll: true });
    element.dispatchEvent(new Event("putaway", { bubbles: true }));
  };
  if (!asked.decision && draftOf(item)?.isOwn) open(false);
  update();
  tick();
  return {
    element,
    update,
    isKept: () => isKept,
    hasTyped: () => isKept || (!isSettled && (fields?.typed() ?? []).length > 0),
  };
}

/** What the draft of a question's arguments is called. @param {string} id */
export const approvalDraft = (id) => `approval:${id}`;

/** The user’s edits from before it was decided elsewhere, to be copied. @param {{name: string, text: string}[]} typed */
function typedTexts(typed) {
  const list = make("dl", {});
  for (const { name, text } of typed)
    list.append(
      make("dt", { class: "mono" }, name),
      make(
        "dd",
        { class: "code-box" },
        make("pre", { tabindex: "0", role: "group", "aria-label": name }, ...visible(text)),
        copyButton(texts.approval.copyTyped, () => text),
      ),
    );
  return make("div", {}, make("p", { class: "field-hint" }, texts.approval.typed), list);
}

/**
 * What is asked less often, and what is good to know.
 * @param {Asked} asked @param {{choices: HTMLElement[], isWhole: boolean}} options
 */
function moreOf(asked, { choices, isWhole }) {
  const every = make("div", {});
  const fold = make(
    "details",
    { class: "approval-more" },
    make("summary", {}, icon("chevron"), asking.more),
    make(
      "div",
      { class: "approval-more-body" },
      make("div", { class: "approval-actions" }, ...choices),
      asked.session_scope &&
        make("p", { class: "field-hint" }, ...visible(texts.approval.alwaysMeans(asked.session_scope))),
      every,
      make("p", { class: "field-hint" }, asking.lead, " ", make("span", { class: "for-keys" }, asking.keys)),
    ),
  );
  fold.addEventListener("toggle", () => {
    if (!fold.open || isWhole || every.firstChild) return;
    fill(every, make("p", { class: "field-hint" }, asking.all), wholeInput(asked.input));
  });
  return fold;
}

/** Whether the summary says what the arguments do not. @param {Asked} asked */
function tellsMore({ tool, summary, input }) {
  if (!summary) return false;
  const words = (/** @type {string} */ text) => text.replace(/[\s↵]+/g, " ").trim();
  const said = words(summary);
  if (said.startsWith(`${tool} {`)) return false;
  const values = typeof input === "object" && input !== null ? Object.values(input) : [input];
  return !values.some((value) => {
    const text = words(asText(value));
    return text !== "" && (said.includes(text) || (said.endsWith("…") && text.startsWith(said.slice(said.indexOf(": ") + 2, -1))));
  });
}

/** Moves the focus to the open question after or before a card. @param {Element} card @param {1 | -1} step */
function goToNext(card, step) {
  const open = [...document.querySelectorAll(".approval:not(.approval-settled)")];
  /** @type {HTMLElement | undefined} */ (open[open.indexOf(card) + step])?.focus();
}
