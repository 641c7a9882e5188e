// The furniture of the office, drawn by us: the room with its windows, the memory's shelf, the terminal, the file cabinet, the
// scheduler's clock, doors, desks, the inbox, and the owner's desk with a chair in front.

import { at, draw, group, paneLeft, paneRight, prism, shape, sign, up } from "./art.js";
import { doorAt, fixed, floor } from "./floor.js";

const wall = 4.1;

/** Floor, walls, and what hangs on the walls; nothing is ever behind them. */
export function room() {
  const { width, depth } = floor;
  const boards = [];
  for (let y = 1; y < depth; y += 1) boards.push(line("board", [0, y, 0], [width, y, 0]));
  for (let y = 0; y < depth; y += 1)
    for (let x = (y * 2.3) % 4; x < width; x += 4.1) if (x > 0.2) boards.push(line("board", [x, y, 0], [x, y + 1, 0]));
  return group(
    "room",
    shape("edge-left", [
      [0, depth, 0],
      [width, depth, 0],
      [width, depth, -0.35],
      [0, depth, -0.35],
    ]),
    shape("edge-right", [
      [width, 0, 0],
      [width, depth, 0],
      [width, depth, -0.35],
      [width, 0, -0.35],
    ]),
    shape("ground", [
      [0, 0, 0],
      [width, 0, 0],
      [width, depth, 0],
      [0, depth, 0],
    ]),
    ...boards,
    shape("wall-left", [
      [0, 0, 0],
      [0, depth, 0],
      [0, depth, wall],
      [0, 0, wall],
    ]),
    shape("wall-right", [
      [0, 0, 0],
      [width, 0, 0],
      [width, 0, wall],
      [0, 0, wall],
    ]),
    shape("wall-cap", [
      [0, 0, wall],
      [0, depth, wall],
      [-0.25, depth, wall],
      [-0.25, -0.25, wall],
      [width, -0.25, wall],
      [width, 0, wall],
    ]),
    paneRight("skirting", { x: 0, z: 0, w: width, h: 0.18 }),
    paneLeft("skirting", { y: 0, z: 0, w: depth, h: 0.18 }),
    window_(6.15, 2.3),
    picture(11.9),
    shape("rug rug-outer", [
      [4.3, 1.9, 0],
      [9.5, 1.9, 0],
      [9.5, 5.75, 0],
      [4.3, 5.75, 0],
    ]),
    shape("rug rug-inner", [
      [4.55, 2.15, 0],
      [9.25, 2.15, 0],
      [9.25, 5.5, 0],
      [4.55, 5.5, 0],
    ]),
    shape("rug rug-owner", [
      [10.5, 4.6, 0],
      [14.7, 4.6, 0],
      [14.7, 8.6, 0],
      [10.5, 8.6, 0],
    ]),
  );
}

/** @param {string} name @param {[number, number, number]} from @param {[number, number, number]} to */
function line(name, from, to) {
  const [[x1, y1], [x2, y2]] = [at(...from), at(...to)];
  return draw("line", { class: name, x1, y1, x2, y2 });
}

/** @param {number} x @param {number} w */
function window_(x, w) {
  const [z, h] = [1.35, 1.9];
  const [mx, my] = at(x + w * 0.74, 0, z + h * 0.72);
  return group(
    "window",
    paneRight("frame", { x: x - 0.12, z: z - 0.12, w: w + 0.24, h: h + 0.24 }),
    paneRight("sky", { x, z, w, h }),
    shape("hill hill-far", [
      [x, 0, z],
      [x, 0, z + 0.75],
      [x + w * 0.3, 0, z + 1.05],
      [x + w * 0.62, 0, z + 0.6],
      [x + w, 0, z + 0.95],
      [x + w, 0, z],
    ]),
    shape("hill", [
      [x, 0, z],
      [x, 0, z + 0.35],
      [x + w * 0.45, 0, z + 0.6],
      [x + w, 0, z + 0.3],
      [x + w, 0, z],
    ]),
    draw("circle", { class: "sun", cx: mx, cy: my, r: 9 }),
    paneRight("frame", { x: x + w / 2 - 0.05, z, w: 0.1, h }),
    paneRight("frame", { x, z: z + h / 2, w, h: 0.09 }),
    shape("sill", [
      [x - 0.2, 0, z - 0.12],
      [x + w + 0.2, 0, z - 0.12],
      [x + w + 0.2, 0.22, z - 0.12],
      [x - 0.2, 0.22, z - 0.12],
    ]),
  );
}

/** @param {number} x */
function picture(x) {
  return group(
    "picture",
    paneRight("frame", { x, z: 2.35, w: 1.3, h: 1.2 }),
    paneRight("canvas", { x: x + 0.12, z: 2.47, w: 1.06, h: 0.96 }),
    shape("brush", [
      [x + 0.12, 0, 2.47],
      [x + 0.12, 0, 2.8],
      [x + 0.5, 0, 3.1],
      [x + 0.8, 0, 2.75],
      [x + 1.18, 0, 2.95],
      [x + 1.18, 0, 2.47],
    ]),
  );
}

/** The shelf of the memory. */
export function shelf() {
  const { x, y, w, d } = fixed.shelf;
  const parts = [prism("wood-dark", { x, y, w, d, h: 2.9 })];
  const front = y + d + 0.005;
  const tones = ["book-a", "book-b", "book-c", "book-d", "book-e"];
  for (let row = 0; row < 4; row += 1) {
    const z = 0.12 + row * 0.69;
    parts.push(paneRight("shelf-hollow", { x: x + 0.1, y: front, z, w: w - 0.2, h: 0.58 }));
    let left = x + 0.15;
    for (let book = 0; left < x + w - 0.34; book += 1) {
      const wide = 0.13 + ((book * 7 + row * 5) % 4) * 0.035;
      const high = 0.38 + ((book * 5 + row * 3) % 4) * 0.05;
      const isGap = (book + row * 3) % 9 === 7;
      if (!isGap)
        parts.push(
          paneRight(`book ${tones[(book * 3 + row * 2) % tones.length]}`, { x: left, y: front, z, w: wide, h: high }),
        );
      left += wide + (isGap ? 0.16 : 0.025);
    }
  }
  parts.push(plant(x + 0.5, y + 0.3, 2.9, 0.7));
  return group("shelf", ...parts);
}

/** The terminal, where commands run: a standing desk with two screens that light up in use. */
export function terminal() {
  const { x, y, w, d } = fixed.terminal;
  const screens = [0.15, 1.4].map((shift) => screen(x + shift, y + 0.34, 1.42, 1.05, 0.85));
  return group(
    "terminal",
    prism("wood-dark", { x: x + 0.1, y, w: 0.14, d, h: 1.25 }),
    prism("wood-dark", { x: x + w - 0.24, y, w: 0.14, d, h: 1.25 }),
    prism("wood", { x, y, w, d, z: 1.25, h: 0.12 }),
    ...screens,
    prism("keys", { x: x + 0.75, y: y + 0.58, w: 0.95, d: 0.25, z: 1.37, h: 0.04 }),
  );
}

/** @param {number} x @param {number} y @param {number} z @param {number} w @param {number} h */
function screen(x, y, z, w, h) {
  const lines = [0.62, 0.36, 0.74, 0.5].map((share, index) =>
    paneRight("glow", { x: x + 0.12, y: y + 0.085, z: z + h - 0.22 - index * 0.16, w: (w - 0.24) * share, h: 0.06 }),
  );
  return group(
    "screen",
    prism("metal", { x: x + w / 2 - 0.08, y, w: 0.16, d: 0.06, z: z - 0.05, h: 0.2 }),
    prism("metal", { x, y, w, d: 0.08, z: z + 0.08, h }),
    paneRight("glass", { x: x + 0.06, y: y + 0.082, z: z + 0.14, w: w - 0.12, h: h - 0.12 }),
    ...lines,
  );
}

/** The cabinet of the files. */
export function cabinet() {
  const { x, y, w, d } = fixed.cabinet;
  const front = y + d + 0.005;
  const drawers = [0, 1, 2].flatMap((row) =>
    [0, 1].flatMap((column) => {
      const [left, z] = [x + 0.07 + column * (w / 2), 0.1 + row * 0.5];
      return [
        paneRight("drawer", { x: left, y: front, z, w: w / 2 - 0.14, h: 0.43 }),
        paneRight("handle", { x: left + 0.24, y: front + 0.01, z: z + 0.26, w: 0.26, h: 0.06 }),
      ];
    }),
  );
  return group(
    "cabinet",
    prism("metal", { x, y, w, d, h: 1.65 }),
    ...drawers,
    prism("paper", { x: x + 0.25, y: y + 0.15, w: 0.6, d: 0.4, z: 1.65, h: 0.12 }),
    plant(x + 1.35, y + 0.4, 1.65, 0.6),
  );
}

/** The scheduler's clock, which shows the viewer's local time. */
export function clock() {
  const [cx, cy] = at(5, 0, 2.85);
  const flat = `matrix(0.95 0.475 0 1 ${cx} ${cy})`;
  const hand = (/** @type {string} */ name, /** @type {number} */ length) =>
    draw("line", { class: `hand ${name}`, x1: 0, y1: 0, x2: 0, y2: -length });
  const ticks = Array.from({ length: 12 }, (_, hour) =>
    draw("line", {
      class: "tick",
      x1: 0,
      y1: -15.5,
      x2: 0,
      y2: hour % 3 === 0 ? -12 : -14,
      transform: `rotate(${hour * 30})`,
    }),
  );
  const element = draw(
    "g",
    { class: "clock", transform: flat },
    draw("circle", { class: "clock-rim", r: 20 }),
    draw("circle", { class: "clock-face", r: 17 }),
    ...ticks,
    hand("hour", 8.5),
    hand("minute", 13),
    draw("circle", { class: "hub", r: 1.6 }),
  );
  const set = (/** @type {Date} */ time) => {
    const minutes = time.getMinutes();
    element.querySelector(".hour")?.setAttribute("transform", `rotate(${(time.getHours() % 12) * 30 + minutes / 2})`);
    element.querySelector(".minute")?.setAttribute("transform", `rotate(${minutes * 6})`);
  };
  return { element, set };
}

/** The door of a channel. @param {string} name @param {number} index @param {boolean} isOpen whether the channel runs */
export function door(name, index, isOpen) {
  const { y } = doorAt(index);
  const [w, h] = [1.06, 2.35];
  const far = y - w / 2;
  const leaf = group(
    "leaf",
    paneLeft("door-leaf", { y: far, z: 0, w, h }),
    paneLeft("door-panel", { y: far + 0.16, z: 0.28, w: w - 0.32, h: 0.8 }),
    paneLeft("door-glass", { y: far + 0.16, z: 1.28, w: w - 0.32, h: 0.82 }),
    draw("circle", { class: "knob", cx: at(0, far + 0.14, 1.15)[0], cy: at(0, far + 0.14, 1.15)[1], r: 2.1 }),
  );
  return group(
    `door ${isOpen ? "" : "is-shut"}`.trim(),
    paneLeft("door-frame", { y: far - 0.12, z: 0, w: w + 0.24, h: h + 0.14 }),
    paneLeft("door-dark", { y: far, z: 0, w, h }),
    leaf,
    paneLeft("plate", { y: y - 0.72, z: 2.72, w: 1.44, h: 0.5 }),
    sign(name, "left", [0, y, 2.84], "plate-text", 11),
    shape("mat", [
      [0.12, far, 0],
      [0.75, far, 0],
      [0.75, far + w, 0],
      [0.12, far + w, 0],
    ]),
  );
}

/** The tray that holds messages until they are answered. */
export function inbox() {
  const { x, y, w, d } = fixed.inbox;
  const letters = [0, 1, 2, 3].map((index) =>
    prism("paper letter", {
      x: x + 0.16 + (index % 2) * 0.05,
      y: y + 0.16 + (index % 3) * 0.04,
      w: 0.56,
      d: 0.5,
      z: 1.0 + index * 0.09,
      h: 0.06,
    }),
  );
  const element = group(
    "inbox",
    prism("wood", { x: x + 0.3, y: y + 0.3, w: 0.3, d: 0.3, h: 0.86 }),
    prism("wood", { x, y, w, d, z: 0.86, h: 0.08 }),
    prism("tray", { x: x + 0.08, y: y + 0.08, w: w - 0.16, d: d - 0.16, z: 0.94, h: 0.06 }),
    ...letters,
  );
  const hold = (/** @type {number} */ count) =>
    letters.forEach((letter, index) => letter.classList.toggle("is-there", index < count));
  hold(0);
  return { element, hold };
}

/**
 * A desk with its laptop and its name.
 * @param {string} name
 * @param {{x: number, y: number, w: number, d: number}} place
 * @param {number} tone
 */
export function desk(name, { x, y, w, d }, tone) {
  const leg = (/** @type {number} */ lx, /** @type {number} */ ly) =>
    prism("wood-dark", { x: lx, y: ly, w: 0.12, d: 0.12, h: 0.86 });
  const laptop = group(
    "laptop",
    prism("metal", { x: x + w * 0.52, y: y + 0.22, w: 0.72, d: 0.42, z: 0.98, h: 0.04 }),
    shape("lid", [
      [x + w * 0.52, y + 0.64, 1.02],
      [x + w * 0.52 + 0.72, y + 0.64, 1.02],
      [x + w * 0.52 + 0.72, y + 0.72, 1.46],
      [x + w * 0.52, y + 0.72, 1.46],
    ]),
  );
  return group(
    `desk tone-${tone}`,
    leg(x + 0.06, y + 0.06),
    leg(x + w - 0.18, y + 0.06),
    leg(x + 0.06, y + d - 0.18),
    shape("modesty", [
      [x + 0.1, y + d - 0.06, 0.3],
      [x + w - 0.1, y + d - 0.06, 0.3],
      [x + w - 0.1, y + d - 0.06, 0.86],
      [x + 0.1, y + d - 0.06, 0.86],
    ]),
    leg(x + w - 0.18, y + d - 0.18),
    prism("wood", { x, y, w, d, z: 0.86, h: 0.12 }),
    laptop,
    prism("mug", { x: x + 0.22, y: y + 0.5, w: 0.16, d: 0.16, z: 0.98, h: 0.2 }),
    prism("paper", { x: x + 0.55, y: y + 0.2, w: 0.4, d: 0.5, z: 0.98, h: 0.03 }),
    sign(
      name,
      "right",
      [x + w / 2, y + d + 0.01, 0.5],
      w > 2.2 ? "desk-text" : "desk-text desk-text-small",
      w > 2.2 ? 12 : 11,
    ),
  );
}

/** The stool behind a desk. @param {{x: number, y: number, w: number}} place */
export function stool({ x, y, w }) {
  const [sx, sy] = [x + w / 2 - 0.28, y - 0.72];
  return group(
    "stool",
    prism("metal", { x: sx + 0.22, y: sy + 0.22, w: 0.12, d: 0.12, h: 0.42 }),
    prism("cloth", { x: sx, y: sy, w: 0.56, d: 0.5, z: 0.42, h: 0.12 }),
  );
}

/** The owner's desk; agents that need the owner wait on the other side. @param {string} name */
export function ownerDesk(name) {
  const { x, y, w, d } = fixed.owner;
  return group(
    "owner-desk",
    prism("wood-dark", { x: x + 0.08, y: y + 0.1, w: w - 0.16, d: d - 0.2, h: 0.92 }),
    prism("wood", { x, y, w, d, z: 0.92, h: 0.14 }),
    prism("paper", { x: x + 0.3, y: y + 0.4, w: 0.5, d: 0.6, z: 1.06, h: 0.05 }),
    prism("lamp-foot", { x: x + 0.75, y: y + 2.2, w: 0.24, d: 0.24, z: 1.06, h: 0.06 }),
    prism("lamp-foot", { x: x + 0.84, y: y + 2.29, w: 0.06, d: 0.06, z: 1.1, h: 0.5 }),
    prism("lamp", { x: x + 0.6, y: y + 2.05, w: 0.54, d: 0.54, z: 1.58, h: 0.3 }),
    sign(name, "right", [x + w / 2, y + d + 0.01, 0.45], "desk-text", 7),
  );
}

/** The owner's own chair. */
export function ownerSeat() {
  const { x, y, w, d } = fixed.seat;
  return group(
    "owner-seat",
    prism("cloth-deep", { x, y, w: w - 0.1, d, z: 0.35, h: 0.22 }),
    prism("cloth-deep", { x: x + w - 0.28, y, w: 0.24, d, z: 0.35, h: 1.15 }),
    prism("metal", { x: x + 0.3, y: y + 0.4, w: 0.2, d: 0.2, h: 0.35 }),
  );
}

/** The chair for waiting for the owner. */
export function waitingChair() {
  const [x, y] = [11, 6.25];
  return group(
    "waiting-chair",
    prism("wood-dark", { x: x + 0.22, y: y + 0.28, w: 0.16, d: 0.16, h: 0.36 }),
    prism("cloth", { x, y, w: 0.62, d: 0.72, z: 0.36, h: 0.14 }),
  );
}

/** @param {number} x @param {number} y @param {number} z @param {number} size */
export function plant(x, y, z, size) {
  const [px, py] = at(x, y, z);
  const leaf = (/** @type {number} */ turn, /** @type {number} */ length, /** @type {string} */ name) =>
    draw("path", {
      class: `leaf-green ${name}`,
      d:
        `M0 0C${-7 * size} ${-length * 0.4} ${-5 * size} ${-length * 0.9} 0 ${-length}` +
        `C${5 * size} ${-length * 0.9} ${7 * size} ${-length * 0.4} 0 0Z`,
      transform: `rotate(${turn})`,
    });
  const leaves = [
    [-62, 22, "deep"],
    [58, 24, "deep"],
    [-34, 30, ""],
    [30, 32, ""],
    [-4, 36, "bright"],
  ].map(([turn, length, name]) => leaf(Number(turn), Number(length) * size, String(name)));
  return group(
    "plant",
    prism("pot", { x: x - 0.2 * size, y: y - 0.2 * size, w: 0.4 * size, d: 0.4 * size, z, h: 0.42 * size }),
    draw("g", { transform: `translate(${px} ${py - 0.42 * size * up})` }, ...leaves),
  );
}
