// The floor plan of Live Company: where things are, where each tool is used, and paths around the furniture. Units are floor
// tiles; x grows along the wall with the shelf, y along the wall with the doors.

/** @typedef {{x: number, y: number}} Spot */
/** @typedef {"desk" | "shelf" | "terminal" | "cabinet" | "window" | "door" | "clock" | "chair" | "colleague"} Place */

export const floor = { width: 15, depth: 11 };
export const mostDesks = 6;
export const mostDoors = 6;

/** The obstacles on the floor. */
export const fixed = {
  shelf: { x: 0.8, y: 0.1, w: 2.9, d: 0.6 },
  terminal: { x: 8.9, y: 0.2, w: 2.6, d: 0.9 },
  cabinet: { x: 12.5, y: 0.2, w: 1.7, d: 0.7 },
  inbox: { x: 2.5, y: 3.3, w: 0.9, d: 0.9 },
  main: { x: 5.6, y: 3.9, w: 2.6, d: 1.1 },
  owner: { x: 12.3, y: 5.2, w: 1.2, d: 2.8 },
  seat: { x: 14, y: 6.1, w: 0.9, d: 1 },
};

/** The desk of the specialist with this number. @param {number} index */
export function deskAt(index) {
  const column = index % 3;
  const row = Math.floor(index / 3) % 2;
  return { x: 2.3 + column * 2.9, y: 6.9 + row * 2.3, w: 2, d: 0.9 };
}

/** The middle of the door with this number, on the wall. @param {number} index */
export const doorAt = (index) => ({ x: 0, y: 1.5 + Math.min(index, mostDoors - 1) * 1.62 });

const spots = {
  shelf: { x: 2.2, y: 1.25 },
  terminal: { x: 10.2, y: 1.65 },
  cabinet: { x: 13.3, y: 1.5 },
  window: { x: 7.4, y: 0.9 },
  clock: { x: 5, y: 0.9 },
  chair: { x: 11.3, y: 6.6 },
};
/** Where further people stand when a place is taken. */
const beside = [
  [0, 0],
  [0.75, 0.25],
  [-0.75, 0.25],
  [0, 0.95],
  [0.85, 1.05],
  [-0.85, 1.05],
];
/** The queue at the owner's desk, towards the middle of the room. */
const queue = [
  [0, 0],
  [-0.2, 1.1],
  [-0.2, -1.1],
  [-1, 0],
  [-1.1, 1.1],
  [-1.1, -1.1],
];

/**
 * The place where a figure stands.
 * @param {Place} place
 * @param {{desk: number, door: number, colleague: number, order: number}} at `desk` is -1 for the main agent; `order`
 *   is the number of people already there
 * @returns {Spot}
 */
export function spotOf(place, { desk, door, colleague, order }) {
  if (place === "desk") return seatAt(desk);
  if (place === "colleague") {
    const seat = seatAt(colleague);
    return { x: seat.x + 1.35, y: seat.y };
  }
  const shift = (place === "chair" ? queue : beside)[Math.min(order, beside.length - 1)] ?? [0, 0];
  if (place === "door") return { x: 0.85 + shift[1], y: doorAt(door).y + shift[0] };
  const spot = spots[place];
  return { x: spot.x + (shift[0] ?? 0), y: spot.y + (shift[1] ?? 0) };
}

/** The seat behind a desk. @param {number} desk */
export function seatAt(desk) {
  const { x, y, w } = desk < 0 ? fixed.main : deskAt(desk);
  return { x: x + w / 2, y: y - 0.45 };
}

/** The place where a tool is used. Tools of an MCP server are named `SERVER__tool`. @param {string} tool @returns {Place} */
export function placeOfTool(tool) {
  const name = tool.toLowerCase().split("__").at(-1) ?? "";
  if (/^(ask_|delegate|specialist)/.test(name)) return "colleague";
  if (/memor|recall|search_history|remember|learn/.test(name)) return "shelf";
  if (/shell|exec|terminal|command|python|run_code|bash|docker/.test(name)) return "terminal";
  if (/send_message|send_|reply|notify|mail|post_message|manage_messages/.test(name)) return "door";
  if (/schedul|remind|cron|job|current_time|clock|timer/.test(name)) return "clock";
  if (/web|http|fetch|url|browse|download/.test(name)) return "window";
  if (/file|pdf|read|write|edit|grep|glob|document|path|director|folder/.test(name)) return "cabinet";
  return "desk";
}

const cell = 0.5;
const columns = Math.ceil(floor.width / cell);
const rows = Math.ceil(floor.depth / cell);

/**
 * The corners of a short path from one spot to another around the furniture, without the start. If there is no path (the spot is
 * inside an obstacle), it goes straight.
 * @param {Spot} from @param {Spot} to @param {number} desks the number of specialists' desks
 * @returns {Spot[]}
 */
export function way(from, to, desks) {
  const things = [
    ...Object.values(fixed),
    ...Array.from({ length: Math.min(desks, mostDesks) }, (_, index) => deskAt(index)),
  ];
  const isFree = (/** @type {Spot} */ spot) =>
    spot.x >= 0.3 &&
    spot.y >= 0.3 &&
    spot.x <= floor.width &&
    spot.y <= floor.depth &&
    !things.some(
      (thing) =>
        spot.x > thing.x - 0.2 &&
        spot.x < thing.x + thing.w + 0.2 &&
        spot.y > thing.y - 0.2 &&
        spot.y < thing.y + thing.d + 0.2,
    );
  const isClear = (/** @type {Spot} */ one, /** @type {Spot} */ other) => {
    const steps = Math.ceil(Math.hypot(other.x - one.x, other.y - one.y) / 0.2);
    for (let step = 1; step < steps; step += 1) {
      if (!isFree({ x: one.x + ((other.x - one.x) * step) / steps, y: one.y + ((other.y - one.y) * step) / steps }))
        return false;
    }
    return true;
  };
  if (isClear(from, to)) return [to];
  const cells = search(from, to, isFree);
  if (!cells) return [to];
  const path = [from, ...cells.slice(1, -1), to];
  const corners = [];
  let at = 0;
  while (at < path.length - 1) {
    let next = path.length - 1;
    while (next > at + 1 && !isClear(path[at], path[next])) next -= 1;
    corners.push(path[next]);
    at = next;
  }
  return corners;
}

/** The cells of a shortest path. @param {Spot} from @param {Spot} to @param {(spot: Spot) => boolean} isFree @returns {Spot[] | null} */
function search(from, to, isFree) {
  const number = (/** @type {Spot} */ { x, y }) =>
    Math.max(0, Math.min(rows - 1, Math.floor(y / cell))) * columns +
    Math.max(0, Math.min(columns - 1, Math.floor(x / cell)));
  const spot = (/** @type {number} */ index) => ({
    x: ((index % columns) + 0.5) * cell,
    y: (Math.floor(index / columns) + 0.5) * cell,
  });
  const [start, goal] = [number(from), number(to)];
  const free = Array.from({ length: columns * rows }, (_, index) => index === goal || isFree(spot(index)));
  /** @type {Map<number, number>} */
  const before = new Map([[start, start]]);
  const open = [start];
  for (let head = 0; head < open.length; head += 1) {
    const here = open[head];
    if (here === goal) break;
    const [column, row] = [here % columns, Math.floor(here / columns)];
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
      [1, 1],
      [1, -1],
      [-1, 1],
      [-1, -1],
    ]) {
      const [x, y] = [column + dx, row + dy];
      if (x < 0 || y < 0 || x >= columns || y >= rows) continue;
      const next = y * columns + x;
      if (before.has(next) || !free[next]) continue;
      // A diagonal step must not cut a corner.
      if (dx && dy && !(free[row * columns + x] && free[y * columns + column])) continue;
      before.set(next, here);
      open.push(next);
    }
  }
  if (!before.has(goal)) return null;
  const path = [];
  for (let here = goal; here !== start; here = /** @type {number} */ (before.get(here))) path.unshift(spot(here));
  return [spot(start), ...path];
}
