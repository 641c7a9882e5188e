// Markdown that the server rendered, block by block, dressed as in the chat: code with its language and colours, tables that
// scroll by themselves, headings without gaps in their levels.

import { levelHeadings, newBlock, showBlock } from "../chat/block.js";
import { make } from "../shared/dom.js";

/** @param {string[]} blocks */
export function rendered(blocks) {
  const element = make("div", { class: "rendered" });
  for (const html of blocks) {
    const block = newBlock();
    showBlock(block, String(html), true);
    element.append(block);
  }
  levelHeadings(element);
  return element;
}
