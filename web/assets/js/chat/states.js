// What stands in place of a conversation that cannot be shown: the form to sign in, or why it could not be loaded.

import { button } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { signInForm } from "../shared/sign-in.js";
import { texts } from "../texts.js";

/** @import { Problem } from "../shared/api.js" */

/** @param {() => void} admit what to do after the sign-in */
export function signInState(admit) {
  const form = signInForm(admit);
  const element = make(
    "div",
    { class: "state" },
    icon("key"),
    make("h2", { class: "state-title" }, texts.signIn.title),
    make("p", {}, texts.signIn.lead),
    form,
  );
  return { element, focus: () => form.querySelector("input")?.focus() };
}

/** @param {Problem} problem @param {() => void} retry */
export const loadFailed = (problem, retry) =>
  make(
    "div",
    { class: "state" },
    icon("alert"),
    make("h2", { class: "state-title" }, texts.error.load),
    make("p", {}, problem.message),
    button({ label: texts.error.again, icon: "retry", press: retry }),
  );
