// The views below a timeline: the current event, all events, the state at that point, the diff of two states, a preview.

import { fill, make } from "../../../shared/dom.js";
import { badge, button, note, skeleton } from "../../../shared/controls.js";
import { sheet } from "../../../shared/sheet.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { recordings as words } from "../../../texts/recordings.js";
import { codeBox, diffView } from "../../../components/code.js";
import { pairs } from "../../../components/drawer.js";
import { searchField, select } from "../../../components/form.js";
import { errorState, state } from "../../../components/state.js";
import { table } from "../../../components/table.js";
import { exactTime } from "../../exact-time.js";
import { messageList } from "./messages.js";
import { briefly, isTrouble, toolNames } from "./timeline.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { SnapshotDifference, SnapshotState } from "../../../wire/api.js" */
/** @import { RecordedEvent, Snapshot } from "./timeline.js" */
/** @import { Context } from "../../context.js" */

const section = (/** @type {string} */ title, /** @type {Node} */ content) =>
  make("section", {}, make("h2", { class: "rec-title" }, title), content);

/** @param {(step: number) => void} step */
export function momentView(step) {
  const body = make("div", { class: "stack" });
  const before = button({ label: words.before, icon: "back", look: "button-small", press: () => step(-1) });
  const after = button({ label: words.after, icon: "chevron", look: "button-small", press: () => step(1) });
  const element = make("div", { class: "stack" }, make("div", { class: "rec-steps" }, before, after), body);
  const show = (/** @type {RecordedEvent | undefined} */ event) => {
    if (!event) return fill(body, make("p", { class: "quiet" }, words.notThere));
    fill(
      body,
      pairs(
        [
          words.type,
          make(
            "span",
            {},
            make("span", { class: "mono" }, ...visible(event.type)),
            " ",
            isTrouble(event) && badge("!", "bad", "alert"),
          ),
        ],
        [words.layer, words.layerNames[event.layer] ?? visibleText(event.layer)],
        [words.time, exactTime(event.ts)],
        [words.belongs, event.trace_id && make("span", { class: "mono" }, ...visible(event.trace_id))],
      ),
      section(words.data, sheet(event.data ?? {}, words.data)),
    );
  };
  return { element, show };
}

/** @typedef {RecordedEvent & {isNow?: boolean}} EventRow */

/** @param {(event: RecordedEvent) => void} pick */
export function eventsView(pick) {
  let all = /** @type {EventRow[]} */ ([]);
  let shown = new Set();
  let text = "";
  const view = table({
    label: words.eventList,
    key: (/** @type {EventRow} */ event) => String(event.seq),
    open: pick,
    columns: [
      {
        id: "seq",
        title: words.number,
        width: "w-xs",
        isWide: true,
        class: "is-number is-soft",
        cell: (event) => String(event.seq),
      },
      { id: "time", title: words.time, width: "w-time", class: "is-soft", cell: (event) => exactTime(event.ts) },
      {
        id: "layer",
        title: words.layer,
        width: "w-s",
        isWide: true,
        cell: (event) =>
          make(
            "span",
            { class: "rec-layer-name", data: { layer: event.layer } },
            words.layerNames[event.layer] ?? visibleText(event.layer),
          ),
      },
      {
        id: "type",
        title: words.type,
        width: "w-m",
        cell: (event) => [
          make(
            "button",
            { type: "button", class: "row-link mono small", on: { click: () => pick(event) } },
            ...visible(event.type),
          ),
          event.isNow && make("span", { class: "rec-now" }, " ◂"),
        ],
      },
      {
        id: "what",
        title: words.what,
        isWide: true,
        class: "is-soft small",
        cell: (event) => visible(briefly(event.data)),
      },
    ],
  });
  const nothing = make("p", { class: "quiet", hidden: true }, words.noEvents);
  const draw = () => {
    const asked = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(
      (event) =>
        shown.has(event.layer) &&
        asked.every((word) =>
          `${event.type} ${JSON.stringify(event.data)} ${event.trace_id}`.toLowerCase().includes(word),
        ),
    );
    nothing.hidden = found.length > 0;
    view.element.hidden = found.length === 0;
    view.show(found);
  };
  const search = searchField({
    label: words.searchEvents,
    change: (next) => {
      text = next;
      draw();
    },
  });
  return {
    element: make("div", {}, make("div", { class: "bar" }, search.element), nothing, view.element),
    events: (/** @type {RecordedEvent[]} */ events, /** @type {Set<string>} */ layers) => {
      all = events;
      shown = layers;
      draw();
    },
    layers: (/** @type {Set<string>} */ layers) => {
      shown = layers;
      draw();
    },
    mark: (/** @type {RecordedEvent | undefined} */ now) => {
      for (const event of all) if (event.isNow) event.isNow = false;
      if (now) /** @type {EventRow} */ (now).isNow = true;
      if (view.element.isConnected) view.show(view.rows());
    },
  };
}

/**
 * A view of an API answer for a snapshot, requested when the view is opened.
 * @template [Answer=unknown]
 * @param {{failure: string, ask: (snapshot: Snapshot) => Promise<Answer>, draw: (answer: Answer, snapshot: Snapshot) => Node[]}} options
 */
function perSnapshot({ failure, ask, draw }) {
  const body = make("div", { class: "stack" });
  const element = make("div", { class: "rec-state" }, body);
  let wanted = /** @type {Snapshot | undefined} */ (undefined);
  let drawn = -1;
  const load = async () => {
    if (!wanted || wanted.n === drawn || !element.isConnected) return;
    const snapshot = wanted;
    drawn = snapshot.n;
    if (body.childElementCount === 0) fill(body, skeleton(6));
    try {
      const answer = await ask(snapshot);
      if (snapshot === wanted) fill(body, ...draw(answer, snapshot));
    } catch (problem) {
      drawn = -1;
      if (snapshot === wanted)
        fill(
          body,
          errorState({
            title: failure,
            text: /** @type {Error} */ (problem).message,
            action: button({ label: texts.error.again, look: "button-small", icon: "retry", press: () => void load() }),
          }),
        );
    }
  };
  // The slider passes many snapshots; only the one where it rests is requested.
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let planned;
  const plan = () => {
    clearTimeout(planned);
    planned = setTimeout(() => void load(), 180);
  };
  new IntersectionObserver(plan).observe(element);
  const show = (/** @type {Snapshot | undefined} */ snapshot) => {
    if (snapshot === wanted && snapshot) return;
    wanted = snapshot;
    if (snapshot) return plan();
    drawn = -1;
    fill(body, state({ icon: "record", title: words.noStateTitle, text: words.noStateHint }));
  };
  return { element, show };
}

/** @param {SnapshotState} found @returns {Node[]} */
function stateParts(found) {
  const names = toolNames(found.tools);
  return [
    section(words.messages, messageList(found.messages)),
    pairs(
      [words.model, found.model && make("span", { class: "mono" }, ...visible(found.model))],
      [words.folder, found.cwd && make("span", { class: "mono" }, ...visible(found.cwd))],
      [
        words.tools,
        names.length > 0 ? make("span", { class: "mono small" }, ...visible(names.join(", "))) : words.none,
      ],
    ),
    section(words.prompt, codeBox(found.system_prompt || words.none, words.prompt)),
  ];
}

/** @param {Context} context @param {string} path */
export function stateView(context, path) {
  return perSnapshot({
    failure: words.stateFailed,
    ask: (/** @type {Snapshot} */ { n }) => context.request(/** @type {Path<SnapshotState>} */ (`${path}/snapshots/${n}`)),
    draw: (answer, snapshot) => [
      make("h2", { class: "rec-heading" }, words.stateOf(snapshot.n)),
      ...stateParts(answer),
    ],
  });
}

/** @param {Context} context @param {string} path */
export function replayView(context, path) {
  return perSnapshot({
    failure: words.replayFailed,
    ask: (/** @type {Snapshot} */ { n }) =>
      context.request(/** @type {Path<SnapshotState>} */ (`${path}/replay/${n}`), { method: "POST", body: {} }),
    draw: (answer) => {
      const title = answer.would_make?.title;
      return [
        note({ text: words.replayHint }),
        title && pairs([words.newTitle, make("span", {}, ...visible(String(title)))]),
        ...stateParts(answer),
      ].filter((part) => part instanceof Node);
    },
  });
}

/** @param {Context} context @param {string} path @param {Snapshot[]} snapshots */
export function differenceView(context, path, snapshots) {
  const options = snapshots.map(
    ({ n, message_count: count }) => /** @type {[string, string]} */ ([String(n), `${n} (${count})`]),
  );
  const last = snapshots.length;
  let pair = [String(snapshots[Math.max(0, last - 2)]?.n ?? ""), String(snapshots.at(-1)?.n ?? "")];
  let isOwn = false;
  const from = select(options, pair[0], (n) => choose(n, pair[1]), words.from);
  const to = select(options, pair[1], (n) => choose(pair[0], n), words.to);
  const body = make("div", { class: "stack" });
  const element = make(
    "div",
    {},
    make("div", { class: "bar" }, make("span", {}, words.from), from, make("span", {}, words.to), to),
    body,
  );
  const choose = (/** @type {string} */ one, /** @type {string} */ other) => {
    isOwn = true;
    pair = [one, other];
    void load();
  };
  const load = async () => {
    if (!element.isConnected || last === 0) return;
    const [one, other] = pair;
    try {
      /** @type {Path<SnapshotDifference>} */ const diffPath = `${path}/diff?from=${one}&to=${other}`;
      const found = await context.request(diffPath);
      if (one === pair[0] && other === pair[1]) fill(body, ...parts(found));
    } catch (problem) {
      fill(body, errorState({ title: words.stateFailed, text: /** @type {Error} */ (problem).message }));
    }
  };
  if (last === 0) fill(body, state({ icon: "record", title: words.noStateTitle, text: words.noStateHint }));
  new IntersectionObserver(() => void load()).observe(element);
  return {
    element,
    /** Selects this snapshot and the previous one, until the user chooses two. @param {Snapshot | undefined} snapshot */
    suggest: (snapshot) => {
      if (isOwn || !snapshot) return;
      const index = snapshots.indexOf(snapshot);
      pair = [String(snapshots[Math.max(0, index - 1)].n), String(snapshot.n)];
      [from.value, to.value] = pair;
      void load();
    },
  };
}

/** The differences reported by the API. @param {SnapshotDifference} found @returns {Node[]} */
function parts({
  removed = [],
  added = [],
  tools_added: come = [],
  tools_removed: gone = [],
  system_prompt: prompt,
  model,
  cwd,
}) {
  const lines = [
    model && words.modelChanged(visibleText(model.from), visibleText(model.to)),
    cwd && words.folderChanged(visibleText(cwd.from), visibleText(cwd.to)),
    come.length > 0 && words.toolsAdded(visibleText(come.join(", "))),
    gone.length > 0 && words.toolsGone(visibleText(gone.join(", "))),
  ].filter(Boolean);
  const shown = [
    lines.length > 0 && make("ul", { class: "rec-changes" }, ...lines.map((line) => make("li", {}, String(line)))),
    removed.length > 0 && section(words.removedMessages(removed.length), messageList(removed)),
    added.length > 0 && section(words.added(added.length), messageList(added)),
    prompt && section(words.promptChanged, diffView(prompt.from, prompt.to, words.promptChanged)),
  ].filter((part) => part instanceof Node);
  return shown.length > 0 ? shown : [make("p", { class: "quiet" }, words.same)];
}
