// The channels: their state, undelivered messages, paired senders, and signed-in browsers.

import { further } from "../../../components/further.js";
import { region, together } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { pageAt } from "../../../shared/api.js";
import { badge, button, note } from "../../../shared/controls.js";
import { confirmDialog, openDialog } from "../../../shared/dialog.js";
import { promptDialog } from "../../../shared/prompt.js";
import { make } from "../../../shared/dom.js";
import { rowMenu } from "../../../shared/menu.js";
import { sentence } from "../../../shared/sentence.js";
import { toast } from "../../../shared/toast.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { channelWords as words } from "../../../texts/channels.js";
import { runAction } from "../../run-action.js";
import { hrefOf } from "../../route.js";
import { sectionHead } from "../../cards.js";
import { phoneWords } from "../../../texts/phone.js";
import { setupWords } from "../../../texts/channel-setup.js";
import { canSetUp, openSetup, testChannel } from "./setup.js";
import { signInPhone } from "./sign-in-phone.js";

/** @import { Context } from "../../context.js" */
/** @import { Mount } from "../../panels.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Channel, Channels, Delivery, Outbox, Pairing, PairingCode, Pairings, SignIn, SignIns } from "../../../wire/api.js" */

/** @type {Path<Channels>} */ const channelsPath = "/api/channels";
/** @type {Path<Outbox>} */ const outboxPath = "/api/outbox?limit=200";
/** @type {Path<Pairings>} */ const pairingsPath = "/api/pairings";
/** @type {Path<SignIns>} */ const signInsPath = "/api/sign-ins";
/** Where a code is made for somebody to pair. @type {Path<PairingCode>} */ const codePath = `${pairingsPath}`;
/** @type {Path<Pairing>} */ const approvePath = `${pairingsPath}/approve`;

/** Channels without pairing. */
const withoutPairing = new Set(["webchat", "email"]);

/** @param {string} name */
const nameOf = (name) => words.names[name] ?? visibleText(name);

/** @type {Mount} */
export function mount(root, context) {
  const parts = [channels(context), deliveries(context), people(context), signIns(context)];
  together(
    context,
    [channelsPath, outboxPath, pairingsPath, signInsPath],
    root,
    make("div", { class: "stack" }, ...parts.map((part) => part.element)),
  );
  const refresh = () => parts.forEach((part) => part.soon());
  /** The set-up that is open. @type {ReturnType<typeof openSetup> | null} */ let open = null;
  const show = (/** @type {string | undefined} */ name) => {
    open?.close();
    open = null;
    if (!name || !canSetUp(name)) return;
    const drawer = openSetup(context, name, {
      invite: () => void invite(context, name),
      changed: refresh,
      closed: () => {
        if (open !== drawer) return;
        open = null;
        context.go([]);
      },
    });
    open = drawer;
  };
  show(context.parts[0]);
  const timer = setInterval(() => !document.hidden && context.isLive() && refresh(), 15000);
  return {
    refresh,
    live: (...[topic, data]) => {
      if (topic === "telemetry" && (data.type === "channel" || data.type === "delivery")) refresh();
    },
    route: (parts) => (show(parts[0]), true),
    unmount: () => {
      clearInterval(timer);
      show(undefined);
    },
  };
}

/**
 * @param {Record<string, {label: string, tone: "good" | "warn" | "bad" | "", icon: string}>} known @param {string} word
 */
function stateBadge(known, word) {
  const { label, tone, icon } = known[word] ?? {
    label: visibleText(word),
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  return badge(label, tone, icon);
}

/**
 * Nothing is recorded for the browser, and "never" would be wrong: its conversations show the time.
 * @param {string | null} moment
 * @param {string} channel
 */
const when = (moment, channel) =>
  moment ? timeElement(moment) : channel !== "webchat" && make("span", { class: "is-soft" }, words.never);

/** @param {Context} context */
function channels(context) {
  const { columns } = words;
  const list = table({
    label: words.title,
    key: (/** @type {Channel} */ row) => row.name,
    columns: [
      {
        id: "name",
        title: columns.name,
        cell: (row) => [
          make("strong", {}, nameOf(row.name)),
          row.account && make("span", { class: "is-soft small" }, " ", ...visible(row.account)),
        ],
      },
      {
        id: "state",
        title: columns.state,
        width: "w-s",
        cell: (row) => make("span", { title: visibleText(row.detail ?? "") }, stateBadge(words.states, row.state)),
      },
      {
        id: "detail",
        title: columns.detail,
        isWide: true,
        class: "is-soft small",
        // What a channel that is off lacks is what its button leads through.
        cell: (row) =>
          row.state === "off" && !row.is_waiting && canSetUp(row.name)
            ? ""
            : make("span", { title: visibleText(row.detail ?? "") }, ...sentence(String(row.detail ?? ""))),
      },
      {
        id: "inbound",
        title: columns.inbound,
        width: "w-s",
        isWide: true,
        cell: (row) => when(row.last_inbound, row.name),
      },
      {
        id: "outbound",
        title: columns.outbound,
        width: "w-s",
        isWide: true,
        cell: (row) => when(row.last_outbound, row.name),
      },
      {
        id: "waiting",
        title: columns.waiting,
        width: "w-xs",
        isWide: true,
        class: "is-number",
        cell: (row) => String(row.pending ?? 0),
      },
      {
        id: "actions",
        title: columns.actions,
        width: "w-l",
        isSpoken: true,
        class: "is-actions",
        cell: (row) => channelAction(context, row),
      },
    ],
  });
  const view = region(context, {
    path: channelsPath,
    failure: words.failed,
    lines: 8,
    show: ({ channels: rows = [] }) => list.show(rows),
  });
  return {
    element: make("section", {}, make("h2", { class: "visually-hidden" }, words.title), view.element),
    soon: view.soon,
  };
}

/** @param {Context} context @param {Channel} row */
function channelAction(context, row) {
  if (!row.enabled)
    return (
      canSetUp(row.name) &&
      make(
        "a",
        { class: "button button-small", href: hrefOf("channels", [row.name]) },
        row.is_waiting ? setupWords.change : words.setUp,
      )
    );
  if (!canSetUp(row.name)) return null;
  return make(
    "span",
    { class: "row-buttons" },
    button({ label: setupWords.test, look: "button-small", press: () => void testChannel(context, row.name) }),
    !withoutPairing.has(row.name) &&
      button({ label: words.invite, look: "button-small", press: () => void invite(context, row.name) }),
  );
}

/** @param {Context} context @param {string} channel */
async function invite(context, channel) {
  let code = "";
  await runAction(
    async () => {
      code = (await context.request(codePath, { method: "POST", body: { channel } })).code;
    },
    "",
    () => {
      const close = button({ label: texts.dialog.close, look: "button-primary", press: () => dialog.close() });
      const dialog = openDialog({
        title: words.inviteFor(nameOf(channel)),
        body: [make("p", { class: "mono" }, words.inviteText(code)), make("p", { class: "is-soft" }, words.inviteHint)],
        actions: [close],
      });
      close.focus();
    },
  );
}

/** @param {Context} context */
function deliveries(context) {
  const { columns } = words;
  const list = table({
    label: words.deliveries,
    key: (/** @type {Delivery} */ row) => row.id,
    columns: [
      {
        id: "what",
        title: columns.what,
        cell: (row) =>
          rowTitle({
            href: hrefOf("sessions", [row.session_id]),
            label: visible(row.text.replace(/\s+/g, " ").slice(0, 160)),
            sub: [timeElement(row.created_at)],
          }),
      },
      {
        id: "where",
        title: columns.where,
        width: "w-m",
        isWide: true,
        cell: (row) => [nameOf(row.channel), make("div", { class: "is-soft small" }, ...visible(row.recipient ?? ""))],
      },
      {
        id: "state",
        title: columns.state,
        width: "w-m",
        cell: (row) => [
          stateBadge(words.deliveryStates, row.state),
          make("div", { class: "is-soft small" }, words.attempts(row.attempts)),
        ],
      },
      {
        id: "error",
        title: columns.error,
        isWide: true,
        class: "is-soft small",
        cell: (row) => visible(row.error ?? ""),
      },
      {
        id: "actions",
        title: columns.actions,
        width: "w-xs",
        isSpoken: true,
        class: "is-actions",
        cell: (row) => rowMenu(words.columns.actions, () => deliveryActions(context, row)),
      },
    ],
  });
  const foot = make("p", { class: "field-hint" });
  let all = 0;
  const older = further(context, {
    path: (/** @type {string} */ cursor) => pageAt(outboxPath, cursor),
    rows: (/** @type {Outbox} */ { deliveries: rows }) => rows,
    key: (/** @type {Delivery} */ row) => row.id,
    shown: () => show(older.rows()),
  });
  const whole = make("div", {}, foot, older.element);
  const show = (/** @type {Delivery[]} */ rows) => {
    foot.textContent = all > rows.length ? words.more(rows.length, all) : "";
    whole.prepend(list.show(rows));
    return whole;
  };
  const view = region(context, {
    path: outboxPath,
    failure: words.deliveriesFailed,
    lines: 3,
    show: ({ deliveries: rows = [], count = 0, next_cursor: next }) => {
      all = count;
      const shown = older.take(rows, next);
      return shown.length > 0
        ? show(shown)
        : note({ icon: "check", title: words.allDelivered, text: words.allDeliveredHint });
    },
  });
  return {
    element: make("section", { id: "deliveries" }, sectionHead(words.deliveries), view.element),
    soon: view.soon,
  };
}

/** @param {Context} context @param {Delivery} row */
function deliveryActions(context, row) {
  const path = `/api/outbox/${encodeURIComponent(row.id)}`;
  const changed = () => {
    context.store.soon(outboxPath);
    context.store.soon(channelsPath);
  };
  const remove = async () => {
    const go = await confirmDialog({
      title: words.removeTitle,
      text: words.removeBody(nameOf(row.channel)),
      action: words.remove,
    });
    if (go) await runAction(() => context.request(path, { method: "DELETE" }), words.removed, changed);
  };
  return [
    {
      label: words.again,
      icon: "retry",
      press: () => void runAction(() => context.request(`${path}/retry`, { method: "POST" }), words.sentAgain, changed),
    },
    { label: words.remove, icon: "trash", danger: true, press: () => void remove() },
  ];
}

/** @param {Context} context */
function people(context) {
  const { columns } = words;
  const list = table({
    label: words.people,
    key: (/** @type {Pairing} */ row) => `${row.channel} ${row.sender}`,
    columns: [
      {
        id: "sender",
        title: columns.account,
        cell: (row) => [
          make("span", { class: "mono" }, ...visible(row.sender)),
          make("span", { class: "row-sub" }, nameOf(row.channel)),
        ],
      },
      { id: "channel", title: columns.name, width: "w-m", isWide: true, cell: (row) => nameOf(row.channel) },
      {
        id: "actions",
        title: columns.actions,
        width: "w-m",
        isSpoken: true,
        class: "is-actions",
        cell: (row) => button({ label: words.forget, look: "button-small", press: () => void forget(context, row) }),
      },
    ],
  });
  const show = (/** @type {Pairings} */ { pairings = [] }) =>
    pairings.length > 0 ? list.show(pairings) : note({ icon: "people", title: words.nobody, text: words.nobodyHint });
  const view = region(context, { path: pairingsPath, failure: words.peopleFailed, lines: 2, show });
  const confirm = button({ label: words.confirm, look: "button-small", press: () => void approve(context) });
  return { element: make("section", {}, sectionHead(words.people, confirm), view.element), soon: view.soon };
}

/** @param {Context} context */
async function approve(context) {
  let said = "";
  const code = await promptDialog({
    title: words.confirmTitle,
    label: words.confirmLabel,
    value: "",
    draft: "pairing-code:",
    send: async (text) => {
      const { sender, channel } = await context.request(approvePath, {
        method: "POST",
        body: { code: text },
      });
      said = words.confirmed(visibleText(sender), nameOf(channel));
    },
  });
  if (!code) return;
  toast(said);
  context.store.soon(pairingsPath);
}

/** @param {Context} context @param {Pairing} row */
async function forget(context, row) {
  const [sender, channel] = [visibleText(row.sender), nameOf(row.channel)];
  if (
    !(await confirmDialog({ title: words.forgetTitle, text: words.forgetBody(sender, channel), action: words.forget }))
  )
    return;
  const path = `${pairingsPath}/${encodeURIComponent(row.channel)}/${encodeURIComponent(row.sender)}`;
  await runAction(
    () => context.request(path, { method: "DELETE" }),
    words.forgotten,
    () => context.store.soon(pairingsPath),
  );
}

/** @param {Context} context */
function signIns(context) {
  const { columns } = words;
  const list = table({
    label: words.signIns,
    key: (/** @type {SignIn} */ row) => row.id,
    columns: [
      {
        id: "address",
        title: columns.account,
        cell: (row) => [
          make("span", { class: "mono" }, ...visible(row.address)),
          " ",
          row.is_current && badge(words.thisOne, "accent"),
        ],
      },
      { id: "began", title: columns.at, width: "w-m", cell: (row) => timeElement(row.began_at) },
      { id: "ends", title: words.until, width: "w-m", isWide: true, cell: (row) => timeElement(row.ends_at) },
      {
        id: "actions",
        title: columns.actions,
        width: "w-s",
        isSpoken: true,
        class: "is-actions",
        cell: (row) =>
          !row.is_current && button({ label: words.end, look: "button-small", press: () => void end(context, row) }),
      },
    ],
  });
  const show = (/** @type {SignIns} */ { sign_ins: rows = [] }) =>
    rows.length > 0 ? list.show(rows) : note({ icon: "key", title: words.noSignIns, text: words.noSignInsHint });
  const phone = button({ label: phoneWords.signInPhone, look: "button-small", press: () => void signInPhone(context) });
  const view = region(context, { path: signInsPath, failure: words.signInsFailed, lines: 2, show });
  return { element: make("section", {}, sectionHead(words.signIns, phone), view.element), soon: view.soon };
}

/** @param {Context} context @param {SignIn} row */
async function end(context, row) {
  if (
    !(await confirmDialog({ title: words.endTitle, text: words.endBody(visibleText(row.address)), action: words.end }))
  )
    return;
  await runAction(
    () => context.request(`${signInsPath}/${encodeURIComponent(row.id)}`, { method: "DELETE" }),
    words.ended,
    () => context.store.soon(signInsPath),
  );
}
