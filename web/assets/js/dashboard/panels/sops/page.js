// One SOP to read: rendered by the server, its source, its runs, its earlier versions; and running, editing or deleting it.

import { at } from "../../../shared/base.js";
import { codeBox } from "../../../components/code.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { field, form, textArea, textInput } from "../../../components/form.js";
import { rendered } from "../../../components/rendered.js";
import { keepToolsPlace, state } from "../../../components/state.js";
import { tabs } from "../../../components/tabs.js";
import { badge, button, iconButton, note, skeleton } from "../../../shared/controls.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { menuOn } from "../../../shared/menu.js";
import { removeShared } from "../../../shared/remove-shared.js";
import { SharedItem } from "../../../shared/shared-item.js";
import { toast } from "../../../shared/toast.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { conflictWords } from "../../../texts/conflict.js";
import { shell } from "../../../texts/shell.js";
import { sopWords as words } from "../../../texts/sops.js";
import { runAction } from "../../run-action.js";
import { lookAgain } from "../../look-again.js";
import { hrefOf } from "../../route.js";
import { runsChanged, sopRuns } from "./runs.js";
import { sopVersions } from "./versions.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { Sop, SopBegun } from "../../../wire/api.js" */

/** @param {string} name @returns {Path<Sop>} */
export const sopPath = (name) => `/api/sops/${encodeURIComponent(name)}`;

/** @param {string} name @returns {Path<SopBegun>} */
const runPath = (name) => `${sopPath(name)}/run`;

/**
 * A SOP as its file says it, even if that is half written and counts as none.
 * @param {import("../../context.js").Context} context
 * @param {string} name
 */
export const sopItem = (context, name) =>
  new SharedItem(context.exchange, sopPath(name), /** @type {Path<Sop>} */ (`${sopPath(name)}?invalid=true`));

/** @param {import("../../context.js").Context} context @param {string} name */
export function sopPage(context, name) {
  const element = make("div", { class: "sop-page" }, skeleton(8));
  const item = sopItem(context, name);
  const end = new AbortController();
  context.signal.addEventListener("abort", () => end.abort());
  context.title(name, hrefOf("sops"));
  keepToolsPlace(context);
  let isLost = false;
  const missing = (/** @type {string} */ text) =>
    state({
      icon: "search",
      title: words.missingTitle,
      text,
      action: make("a", { class: "button", href: hrefOf("sops") }, words.toList),
    });
  const look = async () => {
    if (!item.value) return;
    const answer = await item.peek();
    if (context.signal.aborted || (answer && !item.isOther(answer))) return;
    if (answer) {
      item.take(answer);
      show(context, element, item);
      toast(conflictWords.shownNow);
      return;
    }
    end.abort();
    fill(context.tools);
    fill(element, missing(conflictWords.goneWhileRead));
  };
  const load = async () => {
    isLost = false;
    try {
      await item.read();
      if (context.signal.aborted) return;
      show(context, element, item);
      lookAgain(look, end.signal);
    } catch (problem) {
      if (context.signal.aborted) return;
      isLost = true;
      fill(context.tools);
      const { status, message } = /** @type {import("../../../shared/api.js").Problem} */ (problem);
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void load() });
      fill(
        element,
        status === 404
          ? missing(words.missing)
          : state({ icon: "alert", tone: "bad", title: words.oneFailed, text: message, action: again }),
      );
    }
  };
  void load();
  return {
    element,
    refresh: () => isLost && void load(),
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic, data]) =>
      topic === "agents" && "sop_run" in data && data.sop_run.sop_name === name && runsChanged(),
  };
}

/** @param {import("../../context.js").Context} context @param {HTMLElement} element @param {SharedItem<Sop>} item */
function show(context, element, item) {
  const sop = item.known;
  context.title(sop.title || sop.name, hrefOf("sops"));
  const isCustom = sop.type === "custom";
  const more = iconButton({ label: shell.palette.actions, icon: "more" });
  menuOn(more, () => [
    { label: isCustom ? words.edit : words.copy, icon: "edit", press: () => context.go([sop.name, "edit"]) },
    ...(isCustom
      ? [{ label: words.remove, icon: "trash", danger: true, press: () => void remove(context, item) }]
      : []),
  ]);
  const faults = sop.faults ?? [];
  fill(
    context.tools,
    faults.length === 0 &&
      button({ label: words.run, icon: "play", look: "button-primary", press: () => openRun(context, sop) }),
    more,
  );
  const read = () =>
    Array.isArray(sop.html) ? rendered(withoutTitle(sop.html)) : codeBox(sop.content ?? "", sop.title);
  const { element: views } = tabs({
    label: sop.title || sop.name,
    tabs: [
      {
        id: "read",
        label: words.tabsOne.read,
        view: () =>
          make("div", { class: "sop-text" }, make("h2", { class: "visually-hidden" }, words.tabsOne.read), read()),
      },
      { id: "source", label: words.tabsOne.source, view: () => codeBox(sop.content ?? "", words.tabsOne.source) },
      { id: "runs", label: words.tabsOne.runs, view: () => sopRuns(context, sop.name) },
      {
        id: "versions",
        label: words.tabsOne.versions,
        view: () => sopVersions(context, item, () => show(context, element, item)),
      },
    ],
  });
  const facts = pairs(
    [words.callIt, make("code", {}, `/${sop.name}`)],
    [words.kind, badge(words.types[sop.type] ?? sop.type, isCustom ? "accent" : "")],
    [words.takes, takes(sop)],
    [words.size, words.bytes(sop.size ?? 0)],
    sop.path && [words.file, make("span", { class: "mono sop-path" }, ...visible(sop.path))],
  );
  const invalid =
    faults.length > 0 &&
    note({
      title: words.invalid,
      text: faults.map(({ line, message }) => words.fault(line, visibleText(message))).join("\n"),
      tone: "warn",
      icon: "alert",
    });
  fill(
    element,
    invalid && make("div", { class: "sop-broken" }, invalid),
    make("div", { class: "card sop-facts" }, facts),
    views,
  );
}

/** Drops the title, which the page shows already. @param {string[]} html */
const withoutTitle = (html) => (/^<h\d/.test(html[0] ?? "") ? html.slice(1) : html);

/** @param {Sop} sop */
const takes = (sop) =>
  sop.parameters
    .map(({ name, required }) => `${name} (${required ? words.required : words.optional})`)
    .join(", ") || words.parameters(0);

/** @param {import("../../context.js").Context} context @param {Sop} sop */
function openRun(context, sop) {
  /** @type {Record<string, ReturnType<typeof field>>} */ const fields = {};
  for (const { name, required, default: other, description } of sop.parameters) {
    const hint = [description, other !== null && other !== undefined && other !== "" && words.by(String(other))]
      .filter(Boolean)
      .join(" ");
    fields[name] = field({
      label: `${visibleText(name)} (${required ? words.required : words.optional})`,
      control: textInput({ placeholder: other ?? undefined }),
      hint: visibleText(hint),
    });
  }
  const text = field({ label: words.runInput, control: textArea({ rows: 3 }) });
  const send = async () => {
    const given = Object.entries(fields)
      .map(([name, { control }]) => [name, /** @type {HTMLInputElement} */ (control).value.trim()])
      .filter(([, value]) => value);
    const begun = await context.request(runPath(sop.name), {
      method: "POST",
      body: { arguments: Object.fromEntries(given), text: text.control.value.trim() || undefined },
    });
    runsChanged();
    drawer.close();
    toast(words.started, {
      label: words.openChat,
      press: () => location.assign(at(`/#/${encodeURIComponent(String(begun.session_id).replace(/^webchat:/, ""))}`)),
    });
  };
  const body = [
    note({ text: words.runLead }),
    form({
      fields: { ...fields, text },
      body: [...Object.values(fields).map(({ element }) => element), text.element],
      submit: words.run,
      cancel: () => drawer.close(),
      send,
      draft: `sop-run:${sop.name}`,
    }),
  ];
  const drawer = openDrawer({ title: words.runTitle(sop.title || sop.name), body, closed: () => {} });
  /** @type {HTMLElement | null} */ (drawer.dialog.querySelector("input, textarea"))?.focus();
}

/** @param {import("../../context.js").Context} context @param {SharedItem<Sop>} item */
async function remove(context, item) {
  const { name, content } = item.known;
  if (!(await confirmDialog({ title: words.removeTitle, text: words.removeBody(name), action: words.remove }))) return;
  await runAction(
    () => removeShared(item, { name, isSame: (present) => present.content === content }),
    words.removed,
    () => context.go([]),
  );
}
