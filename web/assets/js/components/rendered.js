// Server-rendered Markdown, block by block, presented as in the chat: code with language label and highlighting, scrolling
// tables, heading levels without gaps.

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
