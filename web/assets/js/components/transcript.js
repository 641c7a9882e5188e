// A read-only stored conversation: messages, replies, each tool call with its result, and the usage. Nothing here runs, and
// nothing can be sent.

import { badge } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { asChange, asText, brief, changeSheet, sheet } from "../shared/sheet.js";
import { compact, duration, money, timeElement } from "../shared/time.js";
import { visible, visibleText } from "../shared/visible.js";
import { pictureButton, pictureSource } from "../chat/picture.js";
import { rendered } from "./rendered.js";
import { sessionWords as words } from "../texts/sessions.js";
import { texts } from "../texts.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Block, Message, Usage } from "../wire/api.js" */

/**
 * The elements of some messages, in order. A call and its result, stored separately, are shown together.
 * @param {Message[]} messages
 * @returns {HTMLElement[]}
 */
export function messageElements(messages) {
  /** @type {Map<string, Block>} */ const results = new Map();
  for (const { content = [], turn } of messages)
    for (const block of content) if (block.type === "tool_result") results.set(`${turn} ${block.call}`, block);
  const calls = new Set(
    messages.flatMap(({ content = [], turn }) =>
      content
        .filter((/** @type {Block} */ block) => block.type === "tool_call")
        .map((/** @type {Block} */ block) => `${turn} ${block.id}`),
    ),
  );
  return messages.flatMap((message) => {
    const blocks = (message.content ?? []).filter(
      (/** @type {Block} */ block) => block.type !== "tool_result" || !calls.has(`${message.turn} ${block.call}`),
    );
    return blocks.length > 0 ? [messageElement(message, blocks, results)] : [];
  });
}

/** @param {Message} message @param {Block[]} blocks @param {Map<string, Block>} results */
function messageElement(message, blocks, results) {
  const body = make("div", { class: "said-body" });
  for (const block of blocks) {
    const shown = blockElement(block, message, results);
    if (shown) body.append(shown);
  }
  const name = words.roles[message.role] ?? String(message.role);
  const end = message.stop_reason && message.stop_reason !== "end" && texts.turn.stopReasons[message.stop_reason];
  const head = make(
    "header",
    {},
    make("h2", { class: "said-who" }, name),
    message.created_at && timeElement(message.created_at),
    message.model && make("span", { class: "mono" }, ...visible(message.model)),
    usageWords(message.usage),
  );
  return make(
    "article",
    { class: "said-entry", data: { role: message.role }, "aria-label": name },
    head,
    body,
    end && make("p", { class: "said-end" }, badge(end, "warn", "alert")),
  );
}

/** @param {Usage | null} usage */
function usageWords(usage) {
  if (!usage) return null;
  const cost = usage.cost_usd > 0 ? ` · ${money(usage.cost_usd)}` : "";
  return make(
    "span",
    { class: "said-usage" },
    words.tokens(compact(usage.input_tokens ?? 0), compact(usage.output_tokens ?? 0)) + cost,
  );
}

/** @param {Block} block @param {Message} message @param {Map<string, Block>} results @returns {Node | null} */
function blockElement(block, message, results) {
  switch (block.type) {
    case "text":
      return textBlock(block);
    case "tool_call":
      return callBlock(block, results.get(`${message.turn} ${block.id}`));
    case "tool_result":
      return callBlock({ ...block, input: block.input ?? {} }, block);
    case "image":
      return picture(block);
    case "file":
      return fold({
        icon: "file",
        name: words.file(visibleText(block.name ?? "")),
        brief: block.mime ?? "",
        aside: [block.untrusted && badge(words.untrusted, "warn")],
        body: [sheet(block.text ?? "", words.file(block.name ?? ""))],
      });
    case "search":
      return fold({
        icon: "globe",
        name: texts.turn.searched,
        brief: String(block.query ?? "").slice(0, 160),
        aside: [badge(words.untrusted, "warn")],
        body: [sheet((block.sources ?? []).map(({ title, url }) => `${title}\n${url}`).join("\n\n"), texts.turn.searched)],
      });
    case "reasoning":
      return fold({
        icon: "spark",
        name: words.reasoning,
        brief: String(block.text ?? "").slice(0, 160),
        body: [make("p", {}, ...visible(block.text ?? ""))],
      });
    case "context":
      return fold({
        icon: "layers",
        name: words.context(visibleText(block.source ?? "")),
        brief: String(block.text ?? "").slice(0, 160),
        body: [make("p", {}, ...visible(block.text ?? ""))],
      });
    case "folded":
      return fold({
        icon: "layers",
        name: words.folded(Number(block.messages ?? 0)),
        brief: "",
        body: [make("p", {}, ...visible(block.summary ?? ""))],
      });
    case "notice":
      return make("p", { class: "said-notice" }, icon("info"), make("span", {}, ...visible(block.text ?? "")));
    default:
      return make("pre", { class: "sheet" }, ...visible(asText(block)));
  }
}

/** @param {Block} block */
function textBlock(block) {
  const mark = block.untrusted && make("span", { title: words.untrustedHint }, badge(words.untrusted, "warn", "alert"));
  if (Array.isArray(block.html)) {
    return make("div", {}, mark, rendered(block.html));
  }
  return make("div", {}, mark, make("p", { class: "said-words" }, ...visible(block.text ?? "")));
}

/** @param {Block} call @param {Block | undefined} result */
function callBlock(call, result) {
  const input = result?.input ?? call.input;
  const change = asChange(input);
  const state = !result
    ? ["", words.unanswered, "info"]
    : result.denied
      ? ["warn", words.denied, "shield"]
      : result.is_error
        ? ["bad", words.error, "alert"]
        : ["good", words.ok, "check"];
  const output = String(result?.output ?? "");
  return fold({
    icon: "tool",
    name: visibleText(String(call.name)),
    brief: brief(input),
    aside: [
      result?.ms !== undefined && make("span", { class: "tool-state" }, duration(result.ms)),
      result?.untrusted && badge(words.untrusted, "warn"),
      badge(state[1], /** @type {"good" | "bad"} */ (state[0]), state[2]),
    ],
    body: [
      Boolean(result?.input) && make("p", { class: "field-hint" }, words.changedInput),
      make("div", {}, make("p", { class: "fold-label" }, words.call), sheet(input ?? {}, words.call)),
      change && make("div", {}, changeSheet(change, texts.tool.change)),
      result &&
        make(
          "div",
          {},
          make("p", { class: "fold-label" }, words.result),
          output ? sheet(output, words.result) : make("p", {}, words.noOutput),
        ),
      ...(result?.blocks ?? []).map((extra) =>
        extra.type === "image" || extra.data
          ? picture(extra)
          : extra.text && sheet(extra.text, extra.name ?? words.result),
      ),
    ],
  });
}

/** @param {{icon: string, name: string, brief: string, aside?: Child[], body: Child[]}} options */
export function fold({ icon: name, name: title, brief: short, aside = [], body }) {
  const summary = make(
    "summary",
    {},
    icon("chevron", "chevron"),
    icon(name),
    make("span", { class: "fold-name" }, title),
    make("span", { class: "fold-brief" }, ...visible(short)),
    ...aside,
  );
  const details = make("details", { class: "fold" }, summary);
  // The body is created when it is first opened.
  details.addEventListener(
    "toggle",
    () => details.childElementCount === 1 && details.append(make("div", { class: "fold-body" }, ...body)),
    { once: true },
  );
  return details;
}

/** @param {Block} block */
function picture(block) {
  const source = pictureSource(block);
  return source
    ? pictureButton(source, { title: words.picture, label: texts.turn.openPicture(""), alt: words.picture })
    : make("p", { class: "quiet" }, texts.tool.noPicture(String(block.mime ?? "")));
}
