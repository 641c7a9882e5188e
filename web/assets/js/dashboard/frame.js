// The frame of the dashboard: the rail of panels, the top line, the panel's head and the place for its body.
// Below 860 px the rail is a drawer.

import { at } from "../shared/base.js";
import { connectionBanner } from "../shared/banner.js";
import { badge, iconButton, themeSwitch } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { languageChoice } from "../shared/language-choice.js";
import { toastRegion } from "../shared/toast.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { handbookWords } from "../texts/handbook.js";
import { shell } from "../texts/shell.js";
import { panels } from "./panels.js";

/** @typedef {ReturnType<typeof buildFrame>} Frame */

const narrow = matchMedia("(width <= 860px)");

/** @param {{search: () => void, retry: () => void, signOut: () => void}} actions */
export function buildFrame({ search, retry, signOut }) {
  const heading = make("h1", { tabindex: "-1", dir: "auto" });
  const back = make(
    "a",
    { class: "icon-button panel-back", hidden: true, "aria-label": shell.back, title: shell.back },
    icon("back"),
  );
  const tools = make("div", { class: "panel-tools" });
  const body = make("div", { class: "panel-body" });
  const link = make("div", { class: "panel-link", role: "status" });
  const facts = make("div", { class: "top-facts" });
  const said = make("div", { class: "visually-hidden", "aria-live": "polite" });
  const banner = connectionBanner({
    retry,
    leave: () => document.getElementById("content")?.focus(),
    lost: texts.dashboard.lost,
  });
  // Signing out makes sense only if a token is required, which the service's status tells.
  const leave = make(
    "button",
    { type: "button", class: "rail-link", hidden: true, on: { click: signOut } },
    icon("leave"),
    make("span", {}, texts.signIn.out),
  );
  const waiting = badge("", "warn");
  const rail = buildRail(leave, waiting);
  const scrim = make("div", { class: "rail-scrim", on: { click: () => drawer(false) } });
  const opener = iconButton({ label: shell.openRail, icon: "menu", look: "rail-opener", press: () => drawer(true) });
  opener.setAttribute("aria-controls", "rail");
  const finder = make(
    "button",
    { type: "button", class: "finder", "aria-keyshortcuts": "Control+K", on: { click: search } },
    icon("search"),
    make("span", { class: "finder-words" }, shell.search),
    make("span", { class: "finder-keys", "aria-hidden": "true" }, make("kbd", {}, texts.keys.control), make("kbd", {}, "K")),
  );
  const top = make("header", { class: "panel-top" }, opener, finder, facts, link);
  const head = make("div", { class: "panel-head" }, back, heading, tools);
  const main = make("main", { class: "panel", id: "content", tabindex: "-1" }, banner.element, head, body);
  const element = make("div", { class: "dashboard" }, rail, scrim, make("div", { class: "panel-side" }, top, main));

  /** @param {boolean} opens */
  const drawer = (opens) => {
    const wasOpen = element.classList.contains("rail-open");
    element.classList.toggle("rail-open", opens && narrow.matches);
    opener.setAttribute("aria-expanded", String(opens && narrow.matches));
    main.inert = top.inert = opens && narrow.matches;
    if (opens) /** @type {HTMLElement | null} */ (rail.querySelector("[aria-current], a"))?.focus();
    else if (wasOpen) opener.focus({ preventScroll: true });
  };
  drawer(false);
  narrow.addEventListener("change", () => drawer(false));
  rail.addEventListener("keydown", (event) => event.key === "Escape" && drawer(false));
  rail.addEventListener(
    "click",
    (event) => /** @type {Element} */ (event.target).closest("a[data-panel]") && drawer(false),
  );
  const skip = make("a", { class: "skip-link", href: "#content" }, texts.skipToContent);
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  document.body.append(skip, element, said, toastRegion());

  return {
    tools,
    body,
    facts,
    banner,
    leave,
    waiting,
    heading,
    /** @param {string} id */
    setCurrent: (id) => {
      for (const entry of rail.querySelectorAll("a[data-panel]")) {
        if (entry.getAttribute("data-panel") === id) entry.setAttribute("aria-current", "page");
        else entry.removeAttribute("aria-current");
      }
    },
    /** @param {string} text @param {string} [wayBack] */
    setTitle: (text, wayBack) => {
      const shown = visibleText(text);
      if (heading.textContent !== shown) fill(heading, ...visible(text));
      heading.title = shown.length > 40 ? shown : "";
      document.title = `${shown} · ${texts.product}`;
      back.hidden = !wayBack;
      if (wayBack) back.href = wayBack;
    },
    /** @param {import("../shared/banner.js").Link} state */
    setLink: (state) => {
      banner.show(state);
      const words = texts.dashboard;
      const shown =
        state.phase === "open"
          ? badge(words.live, "good", "check")
          : state.phase === "waiting"
            ? badge(words.notLive, "warn", "offline")
            : badge(words.connecting);
      if (link.textContent !== shown.textContent) fill(link, shown);
      body.classList.toggle("is-stale", state.phase === "waiting");
    },
    /** @param {string} text */
    announce: (text) => {
      said.textContent = text;
    },
  };
}

/** @param {HTMLElement} leave @param {HTMLElement} waiting */
function buildRail(leave, waiting) {
  const mark = document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";
  const nav = make("nav", { "aria-label": texts.dashboard.rail });
  for (const group of new Set(panels.map((panel) => panel.group))) {
    const list = make("ul", { role: "list" });
    for (const panel of panels.filter((entry) => entry.group === group)) {
      const entry = make(
        "a",
        { class: "rail-link", href: `#/${panel.id}`, data: { panel: panel.id } },
        icon(panel.icon),
        make("span", {}, panel.label),
      );
      if (panel.id === "approvals") entry.append(waiting);
      list.append(make("li", {}, entry));
    }
    nav.append(make("h2", {}, group), list);
  }
  return make(
    "aside",
    { class: "rail", id: "rail", "aria-label": texts.dashboard.title },
    make(
      "a",
      { class: "brand", href: "#/overview" },
      make("img", { src: mark, alt: "", width: 24, height: 24 }),
      make("span", {}, texts.product),
    ),
    nav,
    make(
      "div",
      { class: "rail-foot" },
      make("a", { class: "rail-link", href: at("/") }, icon("chat"), make("span", {}, texts.dashboard.openChat)),
      make(
        "a",
        { class: "rail-link", href: at("/docs/handbook") },
        icon("help"),
        make("span", {}, handbookWords.title),
      ),
      leave,
      make("div", { class: "rail-choices" }, themeSwitch(), languageChoice()),
    ),
  );
}
