// The sign-in page of the dashboard: the token is exchanged for the cookie, then the same address shows the dashboard.

import { at } from "../shared/base.js";
import { make } from "../shared/dom.js";
import { signInForm } from "../shared/sign-in.js";
import { texts } from "../texts.js";

/** Shows the dashboard: below the path for which the cookie counts, even if this page was opened without it. */
function signedIn() {
  if (location.pathname === at("/dashboard")) return location.reload();
  location.replace(at(`/dashboard${location.hash}`));
}

document.title = texts.signIn.page;
const mark = document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";
const form = signInForm(signedIn);
document.body.append(
  make(
    "main",
    { class: "gate" },
    make(
      "div",
      { class: "gate-card" },
      make("img", { src: mark, alt: "", width: 40, height: 40 }),
      make("div", {}, make("h1", {}, texts.signIn.title), make("p", { class: "quiet" }, texts.signIn.lead)),
      form,
    ),
  ),
);
form.querySelector("input")?.focus();
