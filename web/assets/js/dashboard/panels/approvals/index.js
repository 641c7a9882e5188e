// Pending approvals with exactly what would run, grants for conversations, and past decisions.

import { Problem, pageAt } from "../../../shared/api.js";
import { approvalDraft } from "../../../shared/approval-card.js";
import { draftedItems } from "../../../shared/draft-store.js";
import { leftDraft } from "../../../shared/draft.js";
import { arrange, fill, make } from "../../../shared/dom.js";
import { badge, button, note } from "../../../shared/controls.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { timeElement } from "../../../shared/time.js";
import { toast } from "../../../shared/toast.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { approvals as words } from "../../../texts/approvals.js";
import { asking } from "../../../texts/asking.js";
import { codeBox } from "../../../components/code.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { searchField, select } from "../../../components/form.js";
import { further } from "../../../components/further.js";
import { region, state, together } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { approvalsPath } from "../../approvals-path.js";
import { approvalList, denyAll, hasKept, keptQuestions } from "../../approvals.js";
import { exactTime } from "../../exact-time.js";
import { actionName, outcomeOf } from "./outcome.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { Audit, AuditEntry, Grant } from "../../../wire/api.js" */

/**
 * @typedef {{at: string, action: string, subject: string, outcome: string, by: string, detail: string, session_id:
 *   string | null, turn: string | null, key: string}} Row
 */

/** @type {Path<Audit>} */ const auditPath = "/api/audit?limit=1000";

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const cards = make("div", { class: "stack" });
  const nothing = note({ icon: "check", title: words.none, text: words.noneHint });
  const granted = make("div", {});
  const left = make("div", {});
  const several = make("div", { class: "approvals-several", role: "status" });
  const waiting = region(context, {
    path: approvalsPath,
    failure: words.waitingFailed,
    show: (answer) => {
      const view = approvalList(context.store, cards);
      showGrants(granted, answer.granted ?? [], context);
      fill(left, leftEdits(answer.approvals ?? []));
      showSeveral(several, answer.approvals ?? [], context);
      return (answer.approvals ?? []).length > 0 || hasKept() ? view : nothing;
    },
  });
  const past = pastDecisions(context);
  together(
    context,
    [approvalsPath, auditPath],
    root,
    make(
      "div",
      { class: "stack" },
      make("section", {}, heading(words.waiting, several), waiting.element, left),
      granted,
      past.element,
    ),
  );
  return {
    refresh: () => {
      waiting.soon();
      past.soon();
    },
    live: (...[topic]) => {
      if (topic !== "approvals") return;
      waiting.soon();
      past.soon();
    },
  };
}

/**
 * The arguments that were edited before a reload, of questions that were decided meanwhile.
 * @param {{id: string}[]} open
 */
function leftEdits(open) {
  const known = new Set([...open.map(({ id }) => approvalDraft(id)), ...keptQuestions().map(approvalDraft)]);
  const items = draftedItems(approvalDraft("")).filter((item) => !known.has(item));
  const left = items.map((item) => leftDraft(item)).filter((element) => element !== null);
  return left.length > 0 && make("div", { class: "stack" }, note({ text: words.leftEdits, icon: "info" }), ...left);
}

/** @param {string} title @param {Node} [aside] */
const heading = (title, aside) => make("div", { class: "section-head" }, make("h2", {}, title), aside);

/**
 * How many wait, if it is more than one, and what can be done with all of them.
 * @param {HTMLElement} host @param {{id: string}[]} approvals @param {import("../../context.js").Context} context
 */
function showSeveral(host, approvals, context) {
  const count = approvals.length;
  if (host.dataset.count === String(count)) return;
  host.dataset.count = String(count);
  if (count < 2) return fill(host);
  const press = async () => {
    const open = approvals.filter(({ id }) => keptQuestions().includes(id));
    const go = await confirmDialog({
      title: asking.denyAllTitle(open.length),
      text: asking.denyAllText,
      action: asking.denyAll,
    });
    if (go) await denyAll(context.store, open);
  };
  fill(
    host,
    badge(asking.waiting(count), "warn", "clock"),
    button({ label: asking.denyAll, look: "button-small", press: () => void press() }),
  );
}

/** @param {HTMLElement} host @param {Grant[]} grants @param {import("../../context.js").Context} context */
function showGrants(host, grants, context) {
  if (grants.length === 0) return fill(host);
  const list = make("ul", { role: "list", class: "grants" });
  for (const grant of grants) {
    const back = button({
      label: words.takeBack,
      look: "button-small",
      press: () => void takeBack(context, String(grant.id)),
    });
    list.append(
      make(
        "li",
        { class: "grant" },
        make("div", { class: "grant-what" }, ...visible(String(grant.allows ?? ""))),
        sessionLink(grant.session_id),
        back,
      ),
    );
  }
  fill(host, make("section", {}, heading(words.granted), list));
}

/** @param {import("../../context.js").Context} context @param {string} id */
async function takeBack(context, id) {
  try {
    await context.request(`/api/approvals/granted/${encodeURIComponent(id)}`, { method: "DELETE" });
    toast(words.takenBack);
  } catch (problem) {
    toast(`${words.takeBackFailed} ${problem instanceof Problem ? problem.message : ""}`);
  }
  void context.store.load(approvalsPath);
}

/** @param {string | null} session */
const sessionLink = (session) =>
  session ? make("a", { href: `#/sessions/${encodeURIComponent(session)}` }, visibleText(session)) : "";

/** @param {import("../../context.js").Context} context */
function pastDecisions(context) {
  const wanted = { kind: context.query.get("kind") ?? "", text: context.query.get("q") ?? "" };
  let rows = /** @type {Row[]} */ ([]);
  const view = table({ label: words.pastLabel, key: (/** @type {Row} */ row) => row.key, columns, open: openRow });
  const count = make("span", { class: "bar-count", role: "status" });
  const body = make("div", {});
  const older = further(context, {
    path: (/** @type {string} */ cursor) => pageAt(auditPath, cursor),
    rows: (/** @type {Audit} */ { audit }) => audit,
    key: (/** @type {AuditEntry} */ entry) => JSON.stringify(entry),
    shown: () => take(older.rows()),
    isLasting: true,
  });
  const whole = make("div", {}, body, older.element);
  const show = () => {
    const asked = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter(
      (row) =>
        (!wanted.kind || row.action === wanted.kind) &&
        asked.every((word) =>
          searched(row).includes(word),
        ),
    );
    count.textContent = words.count(found.length, rows.length);
    if (rows.length === 0) fill(body, state({ icon: "shield", title: words.pastEmptyTitle, text: words.pastEmpty }));
    else if (found.length === 0) fill(body, state({ icon: "search", title: words.noMatchTitle, text: words.noMatch }));
    else arrange(body, [/** @type {Element} */ (view.show(found))]);
    return whole;
  };
  const take = (/** @type {AuditEntry[]} */ audit) => {
    const seen = new Map();
    rows = audit.map((entry) => {
      const base = `${entry.at} ${entry.action} ${entry.subject} ${entry.turn}`;
      seen.set(base, (seen.get(base) ?? 0) + 1);
      return { ...entry, key: `${base} ${seen.get(base)}` };
    });
    return show();
  };
  const change = (/** @type {Partial<typeof wanted>} */ next) => {
    Object.assign(wanted, next);
    context.note([], { kind: wanted.kind, q: wanted.text });
    show();
  };
  const search = searchField({ label: words.search, value: wanted.text, change: (text) => change({ text }) });
  const kind = select(words.kinds, wanted.kind, (next) => change({ kind: next }), words.kind);
  const answers = region(context, {
    path: auditPath,
    failure: words.pastFailed,
    show: ({ audit = [], next_cursor: next }) => take(older.take(audit, next)),
  });
  const element = make(
    "section",
    {},
    heading(words.past),
    make("div", { class: "bar" }, search.element, kind, count),
    answers.element,
  );
  return { element, soon: answers.soon };
}

/** What a search looks through: what is shown as well as what was recorded. @param {Row} row */
const searched = (row) =>
  [row.subject, row.outcome, outcomeOf(row.action, row.outcome).label, actionName(row.action), row.by, row.detail, row.session_id ?? ""]
    .join(" ")
    .toLowerCase();

/** @param {Row} row @returns {Node} */
function outcomeBadge({ action, outcome }) {
  const { label, tone, icon } = outcomeOf(action, outcome);
  return badge(label, tone, icon);
}

/** @type {import("../../../components/table.js").Column<Row>[]} */
const columns = [
  {
    id: "subject",
    title: words.columns.subject,
    cell: (row) =>
      rowTitle({
        press: () => openRow(row),
        label: [
          `${actionName(row.action)} · `,
          make("span", { class: "mono small" }, ...visible(row.subject)),
          " ",
          make("span", { class: "is-soft small" }, ...visible(row.detail.replace(/\s+/g, " ").slice(0, 160))),
        ],
        sub: [timeElement(row.at)],
      }),
  },
  {
    id: "outcome",
    title: words.columns.outcome,
    width: "w-outcome",
    sort: (row) => row.outcome,
    cell: (row) => outcomeBadge(row),
  },
  { id: "by", title: words.columns.by, width: "w-m", isWide: true, class: "is-soft", cell: (row) => visible(row.by) },
  { id: "where", title: words.columns.where, width: "w-m", isWide: true, cell: (row) => sessionLink(row.session_id) },
  {
    id: "at",
    title: words.columns.at,
    width: "w-s",
    rank: 2,
    isWide: true,
    class: "is-soft",
    sort: (row) => row.at,
    cell: (row) => timeElement(row.at),
  },
];

/** @param {Row} row */
function openRow(row) {
  openDrawer({
    title: row.subject,
    body: [
      pairs(
        [words.kind, actionName(row.action)],
        [words.columns.outcome, outcomeBadge(row)],
        [words.columns.at, exactTime(row.at)],
        [words.columns.by, row.by && make("span", {}, ...visible(row.by))],
        [words.columns.where, sessionLink(row.session_id)],
      ),
      make("section", {}, make("h3", {}, words.detail), codeBox(row.detail || "–", words.detail)),
    ],
    closed: () => {},
  });
}
