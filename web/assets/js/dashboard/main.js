// The dashboard: a rail of panels, a top line with the state of the connection, and the panel that the address names.
// A new panel is a row in `panels`.

import { request } from "../shared/api.js";
import { connectionBanner } from "../shared/banner.js";
import { badge, themeSwitch } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { keepTimes } from "../shared/time.js";
import { toast, toastRegion } from "../shared/toast.js";
import { texts } from "../texts.js";
import { approvalsPanel, approvalsPath } from "./approvals.js";
import { Live } from "./live.js";
import { levelChoice, logView, logsPath } from "./logs.js";
import { overview, statusPath } from "./overview.js";
import { Store } from "./store.js";
import { daysChoice, usagePanel, usagePath, usageTodayPath } from "./usage.js";

const words = texts.dashboard;
const store = new Store();
const approvals = make("div", { class: "stack" });

const panels = [
  { id: "overview", group: words.groups.now, label: words.overview, icon: "gauge", needs: () => [statusPath, approvalsPath, logsPath(8), usageTodayPath], view: overview(store, approvals) },
  { id: "approvals", group: words.groups.now, label: words.approvals, icon: "shield", needs: () => [approvalsPath], view: approvalsPanel(store, approvals) },
  { id: "usage", group: words.groups.system, label: texts.usage.title, icon: "coins", needs: () => [usagePath()], view: usagePanel(store), tools: () => daysChoice(store) },
  { id: "logs", group: words.groups.system, label: words.logs, icon: "list", needs: () => [logsPath(200)], view: logView(store, 200), tools: () => levelChoice(store, 200) },
];

const title = make("h1", {});
const tools = make("div", { class: "panel-tools" });
const link = make("div", { class: "panel-link", role: "status" });
const body = make("div", { class: "panel-body" });
const banner = connectionBanner({ retry: () => live.retryNow(), leave: () => document.getElementById("content")?.focus(), lost: words.lost });
const waiting = badge("", "warn");
// Only where a token is asked for is there something to sign out of; the state of the service tells.
const leave = make("button", { type: "button", class: "rail-link", hidden: true, on: { click: () => void signOut() } }, icon("leave"), make("span", {}, texts.signIn.out));
const rail = buildRail();

document.body.append(
  make("a", { class: "skip-link", href: "#content" }, texts.skipToContent),
  make("div", { class: "dashboard" }, rail, make("main", { class: "panel", id: "content", tabindex: "-1" }, make("header", { class: "panel-top" }, title, tools, link), banner.element, body)),
  toastRegion(),
);
document.querySelector(".skip-link")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content")?.focus();
});

const live = new Live(["sessions", "messages", "approvals", "logs", "usage"], hear);
store.addEventListener("change", draw);
addEventListener("hashchange", open);
setInterval(() => !document.hidden && void store.load(statusPath), 15000);
keepTimes();
open();

function current() {
  const id = location.hash.replace(/^#\//, "");
  return panels.find((panel) => panel.id === id) ?? panels[0];
}

function open() {
  const panel = current();
  title.textContent = panel.label;
  document.title = `${panel.label} · ${texts.product}`;
  fill(tools, panel.tools?.());
  for (const entry of rail.querySelectorAll("a[data-panel]")) {
    if (entry.getAttribute("data-panel") === panel.id) entry.setAttribute("aria-current", "page");
    else entry.removeAttribute("aria-current");
  }
  for (const path of new Set([...panel.needs(), approvalsPath, statusPath])) void store.load(path);
  draw();
}

function draw() {
  const { view } = current();
  view.update();
  if (body.firstChild !== view.element) fill(body, view.element);
  const count = store.get(approvalsPath)?.value?.approvals?.length ?? 0;
  waiting.textContent = String(count);
  waiting.hidden = count === 0;
  leave.hidden = !store.get(statusPath)?.value?.token_required;
  const { phase } = live.link;
  const shown = phase === "open" ? badge(words.live, "good", "check") : phase === "waiting" ? badge(words.notLive, "warn", "offline") : badge(words.connecting);
  if (link.textContent !== shown.textContent) fill(link, shown);
  body.classList.toggle("is-stale", phase === "waiting");
}

/** @param {string} topic @param {any} data */
function hear(topic, data) {
  if (topic === "link") banner.show(data);
  if (topic === "sessions") store.counts.sessions += 1;
  if (topic === "messages") store.counts.messages += 1;
  if (topic === "approvals") store.soon(approvalsPath);
  if (topic === "usage") for (const path of current().needs()) if (isUsage(path)) store.soon(path);
  if (topic === "logs") for (const path of current().needs()) store.soon(path);
  // What happened while nobody told of it is asked for.
  if (topic === "link" || topic === "lagged") for (const path of new Set([...current().needs(), approvalsPath, statusPath])) store.soon(path);
  store.tell();
}

/** @param {string} path */
function isUsage(path) {
  return path.startsWith("/api/usage");
}

function buildRail() {
  const mark = document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";
  const groups = [...new Set(panels.map((panel) => panel.group))];
  const nav = make("nav", { "aria-label": words.rail });
  for (const group of groups) {
    nav.append(make("h2", {}, group));
    for (const panel of panels.filter((entry) => entry.group === group)) {
      const entry = make("a", { class: "rail-link", href: `#/${panel.id}`, data: { panel: panel.id } }, icon(panel.icon), panel.label);
      if (panel.id === "approvals") entry.append(waiting);
      nav.append(entry);
    }
  }
  return make(
    "aside",
    { class: "rail" },
    make("span", { class: "brand" }, make("img", { src: mark, alt: "", width: 24, height: 24 }), make("span", {}, texts.product)),
    nav,
    make("div", { class: "rail-foot" }, themeSwitch(), make("a", { class: "rail-link", href: "/" }, icon("chat"), make("span", {}, words.openChat)), leave),
  );
}

async function signOut() {
  try {
    await request("/api/sign-out", { method: "POST", body: {} });
    location.reload();
  } catch {
    toast(words.signOutFailed);
  }
}
