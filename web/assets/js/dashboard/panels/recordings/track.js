// Draws a timeline: a lane per layer with a mark for each event, flags for snapshots, and a slider over the events. The slider
// provides keyboard access and text; the drawing handles presses.

import { iconButton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { clockTime } from "../../exact-time.js";
import { recordings as words } from "../../../texts/recordings.js";
import { svg } from "../../../components/chart.js";
import { isTrouble, layers, nearest, placeOf, spread } from "./timeline.js";

/** @import { RecordedEvent, Snapshot } from "./timeline.js" */

const size = { width: 1000, lane: 30, top: 20 };
/** The smallest share of a recording that is shown. */
const least = 1 / 256;
const height = size.top + layers.length * size.lane;

/** @param {{moved: (event: RecordedEvent) => void, layered: (shown: Set<string>) => void}} options */
export function track({ moved, layered }) {
  let events = /** @type {RecordedEvent[]} */ ([]);
  let places = /** @type {number[]} */ ([]);
  const shown = new Set(/** @type {readonly string[]} */ (layers));
  const drawing = svg("svg", {
    class: "rec-track",
    viewBox: `0 0 ${size.width} ${height}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const head = svg("line", { class: "rec-head", x1: 0, x2: 0, y1: 0, y2: height });
  const slider = make("input", {
    class: "rec-slider",
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    value: "0",
    "aria-label": words.scrubber,
  });
  const moment = make("output", { class: "rec-moment" });
  // What is in sight of the whole: where it begins, and how wide it is, as shares.
  const sight = { from: 0, width: 1 };
  const zoomOut = iconButton({ label: words.zoomOut, icon: "minus", press: () => zoom(sight.width * 2) });
  const zoomIn = iconButton({ label: words.zoomIn, icon: "plus", press: () => zoom(sight.width / 2) });
  const zooms = make("div", { class: "rec-zoom", role: "group", "aria-label": words.zoom }, zoomOut, zoomIn);
  const ends = make("div", { class: "rec-ends", "aria-hidden": "true" });
  const choices = make(
    "div",
    { class: "rec-layers", role: "group", "aria-label": words.layers },
    ...layers.map((layer) =>
      make(
        "button",
        {
          type: "button",
          class: "rec-layer",
          "aria-pressed": "true",
          data: { layer },
          on: {
            click: (/** @type {Event} */ event) => choose(layer, /** @type {HTMLElement} */ (event.currentTarget)),
          },
        },
        words.layerNames[layer],
      ),
    ),
  );
  const element = make(
    "div",
    { class: "rec-timeline" },
    make("div", { class: "rec-timeline-head" }, choices, moment, zooms),
    make("div", { class: "rec-lanes" }, drawing),
    slider,
    ends,
  );

  const choose = (/** @type {string} */ layer, /** @type {HTMLElement} */ press) => {
    if (shown.has(layer)) shown.delete(layer);
    else shown.add(layer);
    press.setAttribute("aria-pressed", String(shown.has(layer)));
    for (const lane of drawing.querySelectorAll("[data-layer]"))
      lane.classList.toggle("is-off", !shown.has(/** @type {SVGElement} */ (lane).dataset.layer ?? ""));
    layered(shown);
  };

  /** @param {RecordedEvent[]} next @param {Snapshot[]} snapshots */
  const draw = (next, snapshots) => {
    events = next;
    places = spread(events.map(({ ts }) => ts));
    const marks = layers.flatMap((layer, row) => {
      const y = size.top + row * size.lane;
      const path = (/** @type {boolean} */ bad) =>
        events
          .map((event, index) =>
            event.layer === layer && isTrouble(event) === bad
              ? `M${(places[index] * size.width).toFixed(1)} ${y + 6}v${size.lane - 12}`
              : "",
          )
          .join("");
      return [
        svg("rect", { class: "rec-lane", x: 0, y: y + 2, width: size.width, height: size.lane - 4, rx: 4 }),
        svg(
          "g",
          { class: "rec-marks", "data-layer": layer },
          svg("path", { class: `rec-mark rec-${layer}`, d: path(false) }),
          svg("path", { class: "rec-mark rec-trouble", d: path(true) }),
        ),
      ];
    });
    const flags = snapshots.map((snapshot) => {
      const x = placeOf(snapshot.ts, events, places) * size.width;
      return svg("path", { class: "rec-flag", d: `M${x.toFixed(1)} 2V${height}` });
    });
    fill(drawing, ...marks, ...flags, head);
    slider.max = String(Math.max(0, events.length - 1));
    slider.disabled = events.length === 0;
    look();
  };

  /** Shows this share of the whole, around the current event. @param {number} width */
  const zoom = (width) => {
    sight.width = Math.max(least, Math.min(1, width));
    follow(true);
    look();
  };
  /** Keeps the current event in sight. @param {boolean} [isCentred] */
  const follow = (isCentred = false) => {
    const place = places[Number(slider.value)] ?? 0;
    if (!isCentred && place >= sight.from && place <= sight.from + sight.width) return false;
    sight.from = Math.max(0, Math.min(1 - sight.width, place - sight.width / 2));
    return true;
  };
  const look = () => {
    drawing.setAttribute("viewBox", `${sight.from * size.width} 0 ${sight.width * size.width} ${height}`);
    zoomOut.setAttribute("aria-disabled", String(sight.width >= 1));
    zoomIn.setAttribute("aria-disabled", String(sight.width <= least || events.length < 2));
    // The first and the last event in sight.
    const first = events[places.findIndex((place) => place >= sight.from)];
    const last = events[places.findLastIndex((place) => place <= sight.from + sight.width)];
    fill(ends, first && make("span", {}, clockTime(first.ts)), last && make("span", {}, clockTime(last.ts)));
  };

  /** @param {number} index @param {boolean} isTold */
  const set = (index, isTold) => {
    const event = events[index];
    if (!event) return;
    const said = words.moment(clockTime(event.ts), index + 1, events.length);
    slider.value = String(index);
    slider.setAttribute("aria-valuetext", `${said}, ${words.layerNames[event.layer] ?? event.layer}: ${event.type}`);
    moment.textContent = said;
    const x = places[index] * size.width;
    head.setAttribute("x1", String(x));
    head.setAttribute("x2", String(x));
    if (follow()) look();
    if (isTold) moved(event);
  };
  slider.addEventListener("input", () => set(Number(slider.value), true));
  drawing.addEventListener("pointerdown", (event) => {
    const pick = (/** @type {PointerEvent} */ at) => {
      const box = drawing.getBoundingClientRect();
      set(nearest(places, sight.from + ((at.clientX - box.left) / box.width) * sight.width), true);
    };
    pick(event);
    drawing.setPointerCapture(event.pointerId);
    drawing.onpointermove = pick;
    drawing.onpointerup = drawing.onpointercancel = () => {
      drawing.onpointermove = null;
    };
  });

  return {
    element,
    draw,
    shown,
    /** Moves to the event with this number, or the last one before it. @param {number} seq @param {boolean} [isTold] */
    go: (seq, isTold = true) => {
      const found = events.findIndex((event) => event.seq >= seq);
      set(found < 0 ? events.length - 1 : found, isTold);
    },
    /** @param {number} step */
    step: (step) => set(Math.max(0, Math.min(events.length - 1, Number(slider.value) + step)), true),
    current: () => events[Number(slider.value)],
  };
}
