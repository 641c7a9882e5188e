// Our own small set of icons, drawn on a 24-unit grid with one stroke width, as inline SVG.

const shapes = {
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4",
  menu: "M4 7h16M4 12h16M4 17h10",
  more: "M5 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M11 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M17 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "M19 11.5l-7.2 7.2a4.6 4.6 0 0 1-6.5-6.5l7.6-7.6a3 3 0 0 1 4.3 4.3l-7.5 7.5a1.5 1.5 0 0 1-2.1-2.1l6.7-6.8",
  microphone: "M12 4a3 3 0 0 1 3 3v4a3 3 0 0 1-6 0V7a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v3",
  voice: "M4 10v4M8 7v10M12 4v16M16 8v8M20 10v4",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  check: "M5 12.5l4.5 4.5L19 7.5",
  retry: "M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4",
  branch: "M7 4v16M7 14c0-5 10-3 10-9M14 8l3-3 3 3",
  edit: "M5 19l1-4L16 5l3 3L9 18l-4 1Z",
  pin: "M9 4h6l-1 6 3 3H7l3-3-1-6ZM12 13v7",
  archive: "M4 5h16v4H4zM6 9v10h12V9M10 13h4",
  folder: "M4 7V5h6l2 2h8v12H4z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  chevron: "M9 6l6 6-6 6",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  tool: "M14.5 6.5a4 4 0 0 1 5-1l-2.6 2.6.9 2 2 .9 2.2-2.4a4 4 0 0 1-5.5 4.7L9 20.5A2 2 0 0 1 6 20a2 2 0 0 1-.5-3l7.2-7.5a4 4 0 0 1 1.8-3Z",
  terminal: "M4 5h16v14H4zM7.5 9l3 3-3 3M13 15h4",
  file: "M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5",
  clock: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 8v4l3 2",
  hourglass: "M7 4h10M7 20h10M8 4c0 5 8 7 8 12v4M16 4c0 5-8 7-8 12v4",
  globe: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM4 12h16M12 4c-5 5-5 11 0 16M12 4c5 5 5 11 0 16",
  spark: "M12 4l1.8 5.2L19 11l-5.2 1.8L12 18l-1.8-5.2L5 11l5.2-1.8L12 4ZM19 17v4M17 19h4",
  alert: "M12 4l9 16H3L12 4ZM12 10v4M12 17h.01",
  info: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 11v5M12 8h.01",
  shield: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6l7-3ZM9 12l2 2 4-4",
  loop: "M12 4a8 8 0 1 1-7.4 5",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5Z",
  screen: "M4 5h16v11H4zM9 20h6M12 16v4",
  keyboard: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  gauge: "M4 17a8 8 0 1 1 16 0M12 17l4-6",
  list: "M8 7h12M8 12h12M8 17h12M4 7h.01M4 12h.01M4 17h.01",
  key: "M15 13a4 4 0 1 0-4-4c0 .5.1 1 .3 1.5L4 18v3h3v-2h2v-2h2l1.5-1.7c.8-.2 1.6-.3 2.5-2.3Z",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  chat: "M4 5h16v11H10l-4 4v-4H4z",
  offline: "M4 4l16 16M5 12a10 10 0 0 1 4-2.6M12 18h.01M8.5 15.2a5 5 0 0 1 3-1.2M13 9.1c2.3.2 4.4 1.2 6 2.9",
  coins: "M9 14a5 5 0 1 0 0-10 5 5 0 0 0 0 10ZM15.5 10a5 5 0 1 1-5.4 6.6M9 7v4",
  people:
    "M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM3.5 19a5.5 5.5 0 0 1 11 0M15.5 5.4a3 3 0 0 1 0 5.3M17 13.9a5.5 5.5 0 0 1 3.5 5.1",
  help: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM9.7 9.7a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.3 1-1.3 1.9M12 16.500h.01",
  pulse: "M3 12h4l3-7 4 14 3-7h4",
  steps: "M5 5h5v4H5zM5 15h5v4H5zM14 7h5M14 17h5M7.5 9v6",
  record: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  memory:
    "M12 6.5C10.5 5 8 4.5 4 5v13c4-.5 6.500 0 8 1.500 1.500-1.500 4-2 8-1.500V5c-4-.5-6.500 0-8 1.500ZM12 6.500v13",
  switches:
    "M8 5h8a3.500 3.500 0 0 1 0 7H8a3.500 3.500 0 0 1 0-7ZM8 8.500h.01M8 14h8a3 3 0 0 1 0 6H8a3 3 0 0 1 0-6ZM16 17h.01",
  sliders: "M5 6h6M15 6h4M5 12h2M11 12h8M5 18h8M17 18h2M11 4v4M7 10v4M13 16v4",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15L6 16ZM10 20.500h4",
  back: "M19 12H5M11 6l-6 6 6 6",
  play: "M8 5l11 7-11 7V5Z",
  pause: "M8 5v14M16 5v14",
  download: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.500-5.500L12 7.500M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.500 5.500L12 16.500",
  expand: "M9 4H4v5M15 4h5v5M4 15v5h5M20 15v5h-5",
  empty: "M4 13l3-8h10l3 8v6H4v-6ZM4 13h5l1 2h4l1-2h5",
  layers: "M12 4l8 4-8 4-8-4 8-4ZM4 12l8 4 8-4M4 16l8 4 8-4",
};

/** @typedef {keyof typeof shapes} IconName */

/**
 * A decorative icon; the element next to it has the name.
 * @param {IconName | string} name
 * @param {string} [extraClass]
 * @returns {SVGElement}
 */
export function icon(name, extraClass = "") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", `icon ${extraClass}`.trim());
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", shapes[/** @type {IconName} */ (name)] ?? shapes.tool);
  svg.append(path);
  return svg;
}
