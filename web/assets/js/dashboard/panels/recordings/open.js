// One recording: its timeline with a slider, its events, the state at a point in time, the diff of two states, a preview of what
// resuming would start with, and the actions on the file.

import { at } from "../../../shared/base.js";
import { Problem } from "../../../shared/api.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { button, note, skeleton } from "../../../shared/controls.js";
import { icon } from "../../../shared/icons.js";
import { duration } from "../../../shared/time.js";
import { toast } from "../../../shared/toast.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { recordings as words } from "../../../texts/recordings.js";
import { errorState, state } from "../../../components/state.js";
import { tabs } from "../../../components/tabs.js";
import { exactTime } from "../../exact-time.js";
import { listPath, sizeOf } from "./list.js";
import { hrefOf } from "../../route.js";
import { loadTitles, titleFor } from "./titles.js";
import { snapshotAt } from "./timeline.js";
import { track } from "./track.js";
import { differenceView, eventsView, momentView, replayView, stateView } from "./views.js";

/** @import { RecordedEvent, Snapshot } from "./timeline.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { RecordedEvents, Recording, RecordingVerified, SessionForked, Snapshots } from "../../../wire/api.js" */

const page = 1000;
const mostEvents = 20000;

/** @param {HTMLElement} root @param {import("../../context.js").Context} context @param {string} name */
export function mountOne(root, context, name) {
  /** @type {Path<Recording>} */ const path = `${listPath}/${encodeURIComponent(name)}`;
  context.title(words.one, "#/recordings");
  // The actions need no answer of the server, so they stand there before it and move nothing.
  const outcome = make("div", { class: "rec-outcome", role: "status" });
  const tools = actions(context, path, outcome);
  fill(context.tools, ...tools);
  fill(root, skeleton(10));
  let isLost = false;
  const begin = async () => {
    isLost = !(await open(root, context, { name, path, tools, outcome }));
  };
  void begin();
  return {
    refresh: () => isLost && void begin(),
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic, data]) =>
      topic === "recordings" && data.name === name && isLost && void begin(),
  };
}

/**
 * What is known of a recording before the server answers: also its actions, and where their outcome is told.
 * @typedef {{name: string, path: Path<Recording>, tools: Node[], outcome: HTMLElement}} Asked
 */

/**
 * Opens a recording; returns whether it is shown.
 * @param {HTMLElement} root
 * @param {import("../../context.js").Context} context
 * @param {Asked} asked
 * @returns {Promise<boolean>}
 */
async function open(root, context, asked) {
  const { name, path } = asked;
  try {
    /** @type {Path<Snapshots>} */ const snapshotsPath = `${path}/snapshots`;
    const [found, { snapshots = [] }] = await Promise.all([context.request(path), context.request(snapshotsPath)]);
    if (!context.signal.aborted) show(root, context, { ...asked, found, snapshots });
    return true;
  } catch (problem) {
    const running = problem instanceof Problem && problem.status === 404 ? await runningOf(context, name) : undefined;
    if (context.signal.aborted) return true;
    fill(context.tools);
    context.title(name, "#/recordings");
    if (running) {
      const link = make(
        "a",
        { class: "button", href: hrefOf("sessions", [running.session_id]) },
        words.openConversation,
      );
      fill(root, state({ icon: "record", title: words.runningTitle, text: words.runningHint, action: link }));
      return false;
    }
    const again = button({
      label: texts.error.again,
      icon: "retry",
      look: "button-small",
      press: () => void open(root, context, asked),
    });
    const gone = button({
      label: words.remove,
      icon: "trash",
      look: "button-small button-danger",
      press: () => void remove(context, path),
    });
    const isRefused = problem instanceof Problem && problem.status === 422;
    fill(
      root,
      errorState({
        title: words.oneFailed,
        text: /** @type {Error} */ (problem).message || words.refusedHint,
        action: make("div", { class: "blank-action" }, again, isRefused && gone),
      }),
    );
    return isRefused;
  }
}

/**
 * The recording in progress with this name.
 * @param {import("../../context.js").Context} context
 * @param {string} name
 * @returns {Promise<import("./list.js").Running | undefined>}
 */
async function runningOf(context, name) {
  const list = await context.request(listPath).catch(() => null);
  return list?.running.find((one) => one.name === name);
}

/** @typedef {Asked & {found: Recording, snapshots: Snapshot[]}} Opened */

/** @param {HTMLElement} root @param {import("../../context.js").Context} context @param {Opened} opened */
function show(root, context, { name: file, path, tools, outcome, found, snapshots }) {
  const session = found.session_id;
  const name = () => context.title(titleFor(context, session), "#/recordings");
  if (session) {
    name();
    loadTitles(context, name);
  } else context.title(file, "#/recordings");
  const loadedLine = make("p", { class: "quiet rec-loaded", role: "status" });
  const place = make("span", { class: "rec-place" });
  const resume = button({ label: words.resume, icon: "play", look: "button-primary", press: () => void goOn() });
  const here = {
    snapshot: /** @type {Snapshot | undefined} */ (undefined),
    event: /** @type {RecordedEvent | undefined} */ (undefined),
  };
  let events = /** @type {RecordedEvent[]} */ ([]);
  let isQuiet = true;

  const views = {
    moment: momentView((step) => line.step(step)),
    events: eventsView((event) => line.go(event.seq)),
    state: stateView(context, path),
    difference: differenceView(context, path, snapshots),
    replay: replayView(context, path),
  };
  const moved = (/** @type {RecordedEvent | undefined} */ event) => {
    here.event = event;
    here.snapshot = snapshotAt(snapshots, event);
    const { snapshot } = here;
    const said = snapshot ? words.atSnapshot(snapshot.n, snapshots.length, snapshot.message_count) : words.noState;
    if (place.textContent !== said) place.textContent = said;
    resume.disabled = !snapshot || found.has_resumable_state === false;
    views.moment.show(event);
    views.events.mark(event);
    views.state.show(snapshot);
    views.replay.show(snapshot);
    views.difference.suggest(snapshot);
    if (!isQuiet) note_();
  };
  const note_ = () =>
    context.note(context.parts, {
      at: here.event ? String(here.event.seq) : "",
      view: current === "moment" ? "" : current,
    });
  const line = track({
    moved,
    layered: (shown) => views.events.layers(shown),
  });
  let current = Object.keys(words.tabs).includes(context.query.get("view") ?? "")
    ? /** @type {string} */ (context.query.get("view"))
    : "moment";
  const tabbed = tabs({
    label: words.views,
    current,
    tabs: Object.entries(words.tabs).map(([id, label]) => ({
      id,
      label,
      view: () => views[/** @type {keyof typeof views} */ (id)].element,
    })),
    changed: (id) => {
      current = id;
      note_();
    },
  });

  const goOn = async () => {
    const { snapshot } = here;
    if (
      !snapshot ||
      !(await confirmDialog({
        title: words.resumeTitle,
        text: words.resumeBody(snapshot.n, snapshot.message_count),
        action: words.resume,
        isSafe: true,
      }))
    )
      return;
    try {
      /** @type {Path<SessionForked>} */ const resumePath = `${path}/resume/${snapshot.n}`;
      const { session_id: id } = await context.request(resumePath, { method: "POST", body: {} });
      const href = String(id).startsWith("webchat:")
        ? at(`/#/${encodeURIComponent(String(id).slice(8))}`)
        : `#/sessions/${encodeURIComponent(id)}`;
      fill(
        outcome,
        note({
          text: words.resumed,
          icon: "check",
          action: make("div", {}, make("a", { class: "button button-small", href }, words.openIt)),
        }),
      );
      outcome.querySelector("a")?.focus();
    } catch (problem) {
      toast(`${words.resumeFailed} ${/** @type {Error} */ (problem).message}`);
    }
  };
  fill(context.tools, ...tools);
  fill(
    root,
    make(
      "div",
      { class: "stack" },
      outcome,
      facts(found),
      make(
        "section",
        { class: "card rec-card", "aria-label": words.timeline },
        line.element,
        make("div", { class: "rec-here" }, place, resume),
        loadedLine,
      ),
      tabbed.element,
    ),
  );
  moved(undefined);
  void loadEvents(context, path, (next, isAll) => {
    events = next;
    const kept = here.event?.seq;
    line.draw(events, snapshots);
    views.events.events(events, line.shown);
    loadedLine.textContent = isAll ? "" : words.loading(events.length, found.events_count ?? events.length);
    line.go(kept ?? (Number(context.query.get("at")) || (events.at(-1)?.seq ?? 0)));
    isQuiet = false;
  }).catch((/** @type {Error} */ problem) => {
    fill(loadedLine, icon("alert"), `${words.eventsFailed}. ${problem.message}`);
  });
}

/**
 * Loads all events page by page and shows them as they arrive.
 * @param {import("../../context.js").Context} context
 * @param {string} path
 * @param {(events: RecordedEvent[], isAll: boolean) => void} show
 */
async function loadEvents(context, path, show) {
  let events = /** @type {RecordedEvent[]} */ ([]);
  let after = /** @type {number | null} */ (null);
  while (!context.signal.aborted) {
    const from = after === null ? "" : `&after=${after}`;
    /** @type {Path<RecordedEvents>} */ const eventsPath = `${path}/events?limit=${page}${from}`;
    const answer = await context.request(eventsPath);
    const found = answer.events ?? [];
    events = [...events, ...found];
    const isAll = found.length < page || events.length >= mostEvents;
    if (!context.signal.aborted) show(events, isAll);
    if (isAll) return;
    after = found[found.length - 1].seq;
  }
}

/** @param {Recording} found */
function facts({ session_id: session, metadata, duration: seconds, size, ...counts }) {
  return make(
    "p",
    { class: "rec-facts" },
    session && make("a", { href: `#/sessions/${encodeURIComponent(session)}` }, ...visible(session)),
    metadata.started_at && make("span", {}, `${words.began} `, exactTime(metadata.started_at)),
    make("span", {}, `${words.lasted} ${duration(seconds * 1000)}`),
    make("span", {}, words.events(counts.events_count)),
    make("span", {}, words.snapshots(counts.snapshots_count)),
    size > 0 && make("span", {}, sizeOf(size)),
    metadata.version && make("span", {}, words.version(visibleText(metadata.version))),
  );
}

/** @param {import("../../context.js").Context} context @param {string} path @param {HTMLElement} outcome @returns {Node[]} */
function actions(context, path, outcome) {
  const check = button({ label: words.verify, icon: "shield", press: () => void verify() });
  const verify = async () => {
    check.setAttribute("aria-disabled", "true");
    fill(outcome, note({ text: words.verifying }));
    try {
      /** @type {Path<RecordingVerified>} */ const verifyPath = `${path}/verify`;
      const { entries = [] } = await context.request(verifyPath);
      fill(outcome, note({ text: words.verified(entries.length), icon: "check" }));
    } catch (problem) {
      fill(outcome, note({ text: words.unsound(/** @type {Error} */ (problem).message), tone: "bad", icon: "alert" }));
    }
    check.removeAttribute("aria-disabled");
  };
  const download = make(
    "a",
    { class: "button", href: at(`${path}/download`), download: "" },
    icon("down"),
    make("span", {}, words.download),
  );
  return [
    download,
    check,
    button({ label: words.remove, icon: "trash", look: "button-danger", press: () => void remove(context, path) }),
  ];
}

/** @param {import("../../context.js").Context} context @param {string} path */
async function remove(context, path) {
  if (!(await confirmDialog({ title: words.removeTitle, text: words.removeBody, action: words.remove }))) return;
  try {
    await context.request(path, { method: "DELETE" });
    toast(words.removed);
    void context.store.load(listPath);
    context.go([]);
  } catch (problem) {
    toast(`${words.removeFailed} ${/** @type {Error} */ (problem).message}`);
  }
}
