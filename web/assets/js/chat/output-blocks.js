// A tool's output besides text, shown in its expanded line: pictures as pictures, files as code.

import { make } from "../shared/dom.js";
import { sheet } from "../shared/sheet.js";
import { visible } from "../shared/visible.js";
import { texts } from "../texts.js";
import { pictureButton, pictureSource } from "./picture.js";

/** @import { OutputBlock } from "./types.js" */

/** @param {OutputBlock[]} blocks @returns {{label: string, content: HTMLElement}[]} */
export function outputBlocks(blocks) {
  const pictures = blocks.filter(({ type }) => type === "image");
  return blocks.map((block) => {
    if (block.type === "image") return picture(block, pictures.indexOf(block) + 1, pictures.length);
    const label = block.type === "file" ? texts.tool.file(block.name ?? "") : texts.tool.output;
    return { label, content: sheet(block.text ?? "", label) };
  });
}

/** @param {OutputBlock} block @param {number} number @param {number} count */
function picture(block, number, count) {
  const label = texts.tool.picture(number, count);
  const source = pictureSource(block);
  const content = source
    ? pictureButton(source, { title: label, label: texts.tool.openPicture(number, count), alt: label })
    : make("p", {}, ...visible(texts.tool.noPicture(block.mime ?? "")));
  return { label, content };
}
