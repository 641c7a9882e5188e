// A tool's output besides text: pictures, shown below its line in the reply, and files as code, shown when the line is expanded.

import { make } from "../shared/dom.js";
import { sheet } from "../shared/sheet.js";
import { visible } from "../shared/visible.js";
import { texts } from "../texts.js";
import { pictureButton, pictureSource } from "./picture.js";

/** @import { OutputBlock } from "../wire/api.js" */

/** @param {OutputBlock[]} blocks @returns {HTMLElement[]} */
export function outputPictures(blocks) {
  const pictures = blocks.filter(({ type }) => type === "image");
  return pictures.map((block, index) => picture(block, index + 1, pictures.length));
}

/** @param {OutputBlock[]} blocks @returns {{label: string, content: HTMLElement}[]} those that are no pictures */
export function outputBlocks(blocks) {
  const others = blocks.filter(({ type }) => type !== "image");
  return others.map((block) => {
    const label = block.type === "file" ? texts.tool.file(block.name ?? "") : texts.tool.output;
    return { label, content: sheet(block.text ?? "", label) };
  });
}

/** @param {OutputBlock} block @param {number} number @param {number} count */
function picture(block, number, count) {
  const label = texts.tool.picture(number, count);
  const source = pictureSource(block);
  return source
    ? pictureButton(source, { title: label, label: texts.tool.openPicture(number, count), alt: label })
    : make("p", {}, ...visible(texts.tool.noPicture(block.mime ?? "")));
}
