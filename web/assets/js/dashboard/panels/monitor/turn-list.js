// The live monitor by turns: one row for each, with a bar on which its calls lie where they took their time.

import { make } from "../../../shared/dom.js";
import { duration } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { monitor as words } from "../../../texts/monitor.js";
import { rowTitle } from "../../../components/table.js";
import { exactTime } from "../../exact-time.js";
import { liveList } from "../../live-list.js";

/** @import { Turn } from "./turns.js" */

/** How many calls the bar says in words. */
const most = 12;

/**
 * @param {{open: (turn: Turn) => void, only: (session: string) => void, nameOf: (session: string) => string,
 *   state: (turn: Turn) => Node | false, signal: AbortSignal}} options `only`: shows one conversation alone
 */
export function turnList({ open, only, nameOf, state, signal }) {
  return liveList({
    label: words.turnList,
    key: (/** @type {Turn} */ turn) => turn.key,
    open,
    signal,
    columns: [
      { id: "time", title: words.columns.time, width: "w-time", class: "is-soft", cell: (turn) => exactTime(turn.at) },
      {
        id: "what",
        title: words.columns.asked,
        cell: (turn) =>
          rowTitle({
            press: () => open(turn),
            label: visible(turn.asked.replace(/\s+/g, " ").slice(0, 300) || words.noWords),
            sub: [...visible(nameOf(turn.session)), " · ", took(turn)],
          }),
      },
      {
        id: "course",
        title: words.columns.course,
        width: "w-l",
        class: "monitor-course",
        cell: (turn) => turn.spans.length > 0 && course(turn),
      },
      {
        id: "session",
        title: words.columns.session,
        width: "w-m",
        isWide: true,
        cell: (turn) =>
          make(
            "button",
            {
              type: "button",
              class: "monitor-session",
              title: words.onlySession(nameOf(turn.session)),
              on: { click: () => only(turn.session) },
            },
            nameOf(turn.session),
          ),
      },
      { id: "took", title: words.columns.took, width: "w-s", isWide: true, class: "is-number", cell: took },
      { id: "state", title: words.columns.state, width: "w-state", class: "monitor-state", cell: state },
    ],
  });
}

/** @param {Turn} turn */
const took = (turn) => (turn.ms === null ? "" : turn.ms < 1 ? "< 1 ms" : duration(turn.ms));

/** The calls of a turn on a bar that stands for its whole time. @param {Turn} turn */
export function course(turn) {
  const said = turn.spans
    .slice(0, most)
    .map(({ name, ms }) => (ms === null ? visibleText(name) : `${visibleText(name)}, ${duration(ms)}`))
    .join("; ");
  const label = turn.spans.length > most ? words.andMore(said, turn.spans.length - most) : said;
  const bar = make("div", { class: "course", role: "img", "aria-label": label, title: label });
  for (const { state, from, to } of turn.spans) {
    const span = make("span", { class: "course-span", data: { state } });
    span.style.insetInlineStart = `${(from * 100).toFixed(2)}%`;
    span.style.inlineSize = `${((to - from) * 100).toFixed(2)}%`;
    bar.append(span);
  }
  return bar;
}
