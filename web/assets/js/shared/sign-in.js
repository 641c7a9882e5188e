// The token prompt. The token is sent in one header and used nowhere else: the server answers with an HttpOnly cookie, so no
// script, address or storage ever contains it. The header is not Authorization: a proxy in front may have the browser sign in
// there, and one request carries only one.

import { at } from "./base.js";
import { texts } from "../texts.js";
import { button } from "./controls.js";
import { make } from "./dom.js";
import { announceToWindows, onAnnounced } from "./other-windows.js";

/**
 * A form that exchanges the token for the cookie.
 * @param {() => void} signedIn called once the server has accepted the token
 * @returns {HTMLFormElement}
 */
export function signInForm(signedIn) {
  const words = texts.signIn;
  const error = make("p", { class: "field-error", id: "token-error", role: "alert" });
  const input = make("input", {
    class: "input",
    id: "token",
    name: "token",
    type: "password",
    autocomplete: "current-password",
    required: true,
    spellcheck: "false",
    autocapitalize: "off",
    "aria-describedby": "token-hint token-error",
  });
  const submit = button({ label: words.submit, look: "button-primary", type: "submit" });
  const form = make(
    "form",
    { novalidate: true },
    make(
      "div",
      { class: "field" },
      make("label", { for: "token" }, words.label),
      input,
      make("p", { class: "field-hint", id: "token-hint" }, words.hint),
      error,
    ),
    submit,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    error.textContent = "";
    const complaint = input.value.trim() ? await exchange(input.value.trim()) : words.required;
    submit.disabled = false;
    error.textContent = complaint;
    input.setAttribute("aria-invalid", String(complaint !== ""));
    if (complaint) {
      input.focus();
      input.select();
      return;
    }
    input.value = "";
    finish();
    announceToWindows("signed-in");
  });
  // A sign-in in another window counts here too.
  const end = new AbortController();
  const finish = () => {
    if (end.signal.aborted) return;
    end.abort();
    signedIn();
  };
  const seek = async () => {
    if (document.hidden || submit.disabled || !form.isConnected) return;
    const check = await fetch(at("/api/status"), { cache: "no-store" }).catch(() => null);
    if (check?.ok && form.isConnected) finish();
  };
  onAnnounced("signed-in", () => void seek(), end.signal);
  document.addEventListener("visibilitychange", () => void seek(), { signal: end.signal });
  addEventListener("focus", () => void seek(), { signal: end.signal });
  return form;
}

/** Exchanges the token for the cookie; returns "" or the error. @param {string} token */
async function exchange(token) {
  const words = texts.signIn;
  try {
    // The server judges a cookie before the token, and a 401 takes a stale cookie away: what was refused for the sake of
    // the cookie is admitted when asked again. The same holds when another tab's 401 took the new cookie away.
    const first = await attempt(token);
    return first === words.wrong || first === words.cookie ? await attempt(token) : first;
  } catch {
    return words.unreachable;
  }
}

/** Tries the exchange once. @param {string} token */
async function attempt(token) {
  const words = texts.signIn;
  const options = /** @type {const} */ ({
    headers: { "X-Aethon-Token": encodeURIComponent(token) },
    cache: "no-store",
    redirect: "manual",
  });
  let response = await fetch(at("/dashboard"), options);
  // Without a dashboard, the status route signs in instead.
  if (response.status === 404) response = await fetch(at("/api/status"), options);
  if (response.status === 429) return words.tooMany(response.headers.get("Retry-After") ?? "60");
  if (response.status === 401) return words.wrong;
  const check = await fetch(at("/api/status"), { cache: "no-store" });
  return check.status === 401 ? words.cookie : "";
}
