// The people of the office: small rounded figures drawn by us, one colour each, with a face that shows their state. The origin of
// a figure's group is at its feet.

import { draw, group } from "./art.js";

export const tones = 8;

/** @param {number} tone the colour of the jersey, hair and skin @param {string} name for the tooltip */
export function figure(tone, name) {
  const title = draw("title");
  title.textContent = name;
  const leg = (/** @type {string} */ side, /** @type {number} */ x) =>
    draw("rect", { class: `leg leg-${side}`, x, y: -12, width: 5.4, height: 12.5, rx: 2.6 });
  const arm = (/** @type {string} */ side, /** @type {string} */ d) => draw("path", { class: `arm arm-${side}`, d });
  const element = draw(
    "g",
    { class: `person tone-${tone % tones} hair-${(tone * 5 + 2) % 4} skin-${(tone * 3) % 4}` },
    title,
    draw("ellipse", { class: "shadow", cx: 0, cy: 0.5, rx: 14, ry: 6 }),
    draw("circle", { class: "hit", cx: 0, cy: -28, r: 30 }),
    draw(
      "g",
      { transform: "scale(1.18)" },
      group(
        "body",
        leg("left", -6.2),
        leg("right", 0.9),
        arm("left", "M-8.5 -26C-12.5 -23 -13 -17.5 -11.2 -14"),
        draw("path", {
          class: "jersey",
          d: "M-9.6 -11.5V-22.5A9.6 9.6 0 0 1 9.6 -22.5V-11.5A4 4 0 0 1 5.6 -8.5H-5.6A4 4 0 0 1 -9.6 -11.5Z",
        }),
        draw("path", {
          class: "jersey-shade",
          d: "M3.4 -31.2A9.6 9.6 0 0 1 9.6 -22.5V-11.5A4 4 0 0 1 5.6 -8.5H2.4C5.2 -15 5.4 -24 3.4 -31.2Z",
        }),
        arm("right", "M8.5 -26C12.5 -23 13 -17.5 11.2 -14"),
        group(
          "head",
          draw("circle", { class: "skin", cx: 0, cy: -38.5, r: 9.6 }),
          draw("path", { class: "hair", d: hairs[tone % hairs.length] }),
          draw("circle", { class: "eye", cx: -3.2, cy: -37.4, r: 1.15 }),
          draw("circle", { class: "eye", cx: 3.6, cy: -37.4, r: 1.15 }),
          draw("path", { class: "mouth", d: "M-2 -33.8Q0.3 -32.2 2.6 -33.8" }),
          draw("path", { class: "mouth mouth-sad", d: "M-2 -32.6Q0.3 -34.4 2.6 -32.6" }),
        ),
        draw("path", { class: "carried", d: "M7 -20h9v6.4h-9zM7 -20l4.5 3.6 4.5 -3.6" }),
      ),
    ),
  );
  return element;
}

const hairs = [
  "M-9.8 -38.5A9.8 9.8 0 0 1 9.6 -40.5C6.5 -40.2 4.5 -42 3 -44C0 -41 -5 -41.5 -7.4 -41C-7.8 -39.6 -8.6 -38.6 -9.8 -38.5Z",
  "M-10.2 -34.5C-11.4 -44 -6 -49.4 0.4 -49.2C7.4 -49 11 -43.6 10.2 -34.5C8.6 -37.4 8.4 -40.4 7.4 -42C2.4 -41.2 " +
  "-4.4 -41.4 -7.4 -43.4C-8 -40.4 -8.6 -37 -10.2 -34.5Z",
  "M-9.6 -40A9.7 9.7 0 0 1 9.6 -40C7 -42.6 -7 -42.6 -9.6 -40ZM-3 -48.4a4.6 4.6 0 1 1 6.4 0z",
  "M-9.8 -38A10 10 0 0 1 2 -48.6C8.4 -48 10.4 -43 9.8 -38C8.6 -40.6 6 -43 1.6 -43.6C-2.6 -44 -8 -42.6 -9.8 -38Z",
];
