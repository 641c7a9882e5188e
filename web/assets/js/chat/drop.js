// Accepts dropped files on the whole page: where a drop is not handled, the browser opens the file instead of the page.

import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

/** @param {HTMLElement} area highlighted while files can be dropped @param {(files: File[]) => void} attach */
export function acceptDrops(area, attach) {
  const hint = make("div", { class: "drop-hint", hidden: true }, make("span", {}, texts.composer.drop));
  area.append(hint);
  let depth = 0;
  const show = (/** @type {boolean} */ isOver) => {
    if (!isOver) depth = 0;
    hint.hidden = !isOver;
    area.classList.toggle("drop-over", isOver);
  };
  const carriesFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragenter", (event) => {
    if (!carriesFiles(event)) return;
    depth += 1;
    show(true);
  });
  document.addEventListener("dragleave", () => {
    depth -= 1;
    if (depth <= 0) show(false);
  });
  document.addEventListener("dragover", (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    show(false);
    attach([...(event.dataTransfer?.files ?? [])]);
  });
}
