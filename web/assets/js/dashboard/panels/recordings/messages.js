// The messages of a recorded state. Whatever a recording contains is shown, and none of it runs. The server renders replies.

import { make } from "../../../shared/dom.js";
import { setRenderedHtml } from "../../../shared/html.js";
import { brief, sheet } from "../../../shared/sheet.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { recordings as words } from "../../../texts/recordings.js";
import { blocksOf } from "./timeline.js";

/** @import { Block, Message } from "../../../wire/api.js" */

const mostShown = 200;

/** @param {Message[]} messages @returns {HTMLElement} */
export function messageList(messages) {
  if (!messages || messages.length === 0) return make("p", { class: "quiet" }, words.none);
  const list = make("ol", { role: "list", class: "rec-messages" });
  for (const message of messages.slice(-mostShown)) {
    const role = String(message?.role ?? "");
    list.append(
      make(
        "li",
        { class: "rec-message", data: { role } },
        make("span", { class: "rec-role" }, words.roles[role] ?? visibleText(role)),
        make("div", { class: "rec-blocks" }, ...blocksOf(message).map(block)),
      ),
    );
  }
  return list;
}

/** @param {Block} block @returns {Node} */
function block(block) {
  if (block.type === "text" && Array.isArray(block.html)) {
    const reply = make("div", { class: "prose" });
    setRenderedHtml(reply, block.html.join(""));
    return reply;
  }
  if (block.type === "text" || block.type === "reasoning")
    return make("p", { class: "rec-text" }, ...visible(String(block.text ?? "")));
  if (block.type === "tool_call") return fold(String(block.name ?? ""), brief(block.input), block.input);
  if (block.type === "tool_result")
    return fold(String(block.name ?? ""), String(block.output ?? "").slice(0, 120), block.output ?? "");
  if (block.type === "file") return fold(words.file, String(block.name ?? ""), block.text ?? "");
  if (block.type === "image") return make("p", { class: "is-soft" }, visibleText(String(block.mime ?? "image")));
  if (block.type === "notice" || block.type === "context")
    return make("p", { class: "is-soft rec-text" }, ...visible(String(block.text ?? "")));
  return fold(String(block.type ?? "?"), "", block);
}

/** @param {string} name @param {string} short @param {unknown} whole */
function fold(name, short, whole) {
  const inner = make("div", {});
  const element = make(
    "details",
    { class: "rec-fold" },
    make(
      "summary",
      {},
      make("span", { class: "mono" }, ...visible(name)),
      " ",
      make("span", { class: "is-soft mono" }, ...visible(short.replace(/\s+/g, " "))),
    ),
    inner,
  );
  element.addEventListener("toggle", () => inner.childElementCount === 0 && inner.append(sheet(whole, name)));
  return element;
}
