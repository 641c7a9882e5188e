// Isometric drawing: projects points of the room, draws boxes with three lit sides, and panes on the two walls. Shapes have only
// classes; their colours come from the theme, in company.css.

const space = "http://www.w3.org/2000/svg";
/** Pixels per tile: across, down, and up. */
const across = 28;
const down = 14;
export const up = 30;

/** Projects a point of the room onto the picture. @param {number} x @param {number} y @param {number} [z] @returns {[number, number]} */
export const at = (x, y, z = 0) => [round((x - y) * across), round((x + y) * down - z * up)];

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;

/**
 * @param {string} tag @param {Record<string, string | number>} [attributes] @param {...(Node | string | false | null | undefined)} children
 * @returns {SVGElement}
 */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  for (const child of children) if (child) element.append(child);
  return element;
}

/** @param {string} name @param {...(Node | false | null | undefined)} children */
export const group = (name, ...children) => draw("g", name ? { class: name } : {}, ...children);

/** A flat shape through points of the room. @param {string} name @param {[number, number, number][]} corners */
export function shape(name, corners) {
  return draw("polygon", { class: name, points: corners.map(([x, y, z]) => at(x, y, z).join(",")).join(" ") });
}

/**
 * A box: its top and the two sides that face the viewer.
 * @param {string} name the class that sets its colour
 * @param {{x: number, y: number, z?: number, w: number, d: number, h: number}} box
 */
export function prism(name, { x, y, z = 0, w, d, h }) {
  const top = z + h;
  return group(
    `box ${name}`,
    shape("side-left", [
      [x, y + d, z],
      [x + w, y + d, z],
      [x + w, y + d, top],
      [x, y + d, top],
    ]),
    shape("side-right", [
      [x + w, y, z],
      [x + w, y + d, z],
      [x + w, y + d, top],
      [x + w, y, top],
    ]),
    shape("side-top", [
      [x, y, top],
      [x + w, y, top],
      [x + w, y + d, top],
      [x, y + d, top],
    ]),
  );
}

/**
 * A pane on the wall with the shelf, or on any plane along it.
 * @param {string} name
 * @param {{x: number, y?: number, z: number, w: number, h: number}} pane
 */
export const paneRight = (name, { x, y = 0, z, w, h }) =>
  shape(name, [
    [x, y, z],
    [x + w, y, z],
    [x + w, y, z + h],
    [x, y, z + h],
  ]);

/**
 * A pane on the wall with the doors; `y` is its far edge.
 * @param {string} name
 * @param {{y: number, x?: number, z: number, w: number, h: number}} pane
 */
export const paneLeft = (name, { y, x = 0, z, w, h }) =>
  shape(name, [
    [x, y, z],
    [x, y + w, z],
    [x, y + w, z + h],
    [x, y, z + h],
  ]);

/**
 * Text on a plane along one of the walls.
 * @param {string} words
 * @param {"left" | "right"} wall
 * @param {[number, number, number]} where the centre of the text
 * @param {string} name
 * @param {number} [longest]
 */
export function sign(words, wall, [x, y, z], name, longest = 12) {
  const [sx, sy] = at(x, y, z);
  const slope = down / across;
  const text = draw("text", {
    class: name,
    "text-anchor": "middle",
    transform: `matrix(0.9 ${wall === "left" ? -slope * 0.9 : slope * 0.9} 0 1 ${sx} ${sy})`,
  });
  text.textContent = words.length > longest ? `${words.slice(0, longest - 1)}…` : words;
  return text;
}
