// The parts between the blocks of a reply: tools collapsed into one line, reasoning, notices, context, and summaries. Each view
// is created once for its part and refreshed by `update`.

import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { duration } from "../shared/time.js";
import { texts } from "../texts.js";
import { readingWords as words } from "../texts/reading.js";
import { approvalCard } from "../shared/approval-card.js";
import { asChange, brief, changeSheet, lastLines, noOutput, sheet } from "../shared/sheet.js";
import { visible } from "../shared/visible.js";

import { outputBlocks, outputPictures } from "./output-blocks.js";
import { pictureButton, pictureSource } from "./picture.js";

/** @import { Part, ToolPart, NoticePart, ContextPart } from "./types.js" */
/** @typedef {{element: HTMLElement, update: () => void}} PartView */
/** @import { Terms } from "../shared/approval-card.js" */

/**
 * @param {Part} part
 * @param {(id: string, decision: "approve" | "deny", terms: Terms) => void} decide
 * @returns {PartView}
 */
export function partView(part, decide) {
  switch (part.kind) {
    case "tool":
      return toolView(part);
    case "approval":
      return approvalCard(part, (decision, terms) => decide(part.id, decision, terms));
    case "reasoning":
      return reasoningView(part);
    case "image":
      return still(madePicture(part));
    case "folded":
      return still(
        fold("layers", [make("span", {}, texts.turn.folded(part.messages))], () => [
          make("p", {}, ...visible(part.summary)),
        ]),
      );
    case "context":
      return still(contextNote(part));
    case "model":
      return still(line("info", texts.model.switched(part.model, part.reason)));
    default:
      return still(noticeLine(part));
  }
}

/** @param {HTMLElement} element @returns {PartView} */
const still = (element) => ({ element, update: () => {} });

/** @param {string} name @param {string} text */
const line = (name, text) => make("p", { class: "aside-line" }, icon(name), make("span", {}, ...sentence(text)));

/** A notice's icon shows its subject, and its colour adds whether it is a warning. @type {Record<string, [string, string?]>} */
const noticeLooks = {
  budget_warning: ["coins", "warn"],
  unknown_model: ["alert", "warn"],
  waiting: ["clock"],
};

/** A picture that the model made. @param {import("./types.js").ImagePart} part */
function madePicture(part) {
  const source = pictureSource(part);
  if (!source) return line("alert", texts.tool.noPicture(part.mime ?? ""));
  const words = { title: texts.turn.madePicture, label: texts.turn.openMadePicture, alt: texts.turn.madePicture };
  return make("p", { class: "made-picture" }, pictureButton(source, words));
}

/** @param {NoticePart} part */
function noticeLine({ code, text }) {
  const [name, tone] = Object.hasOwn(noticeLooks, code) ? noticeLooks[code] : ["info"];
  const element = line(name, text);
  if (tone) element.dataset.tone = tone;
  return element;
}

/** The context that a hook added to the user's message. @param {ContextPart} part */
function contextNote({ source, text }) {
  const title = texts.turn.context(source);
  return fold("info", [make("span", {}, ...visible(title))], () => [sheet(text, title)]);
}

/**
 * An expandable line, whose body is created when it is opened.
 * @param {string} name @param {Node[]} summary @param {() => Node[]} body
 */
function fold(name, summary, body) {
  const element = make(
    "details",
    { class: "fold" },
    make("summary", {}, icon("chevron", "chevron"), icon(name), ...summary),
  );
  const inside = make("div", { class: "fold-body" });
  element.append(inside);
  element.addEventListener("toggle", () => fill(inside, ...(element.open ? body() : [])));
  return element;
}

/**
 * The model's reasoning: its last lines while it thinks, and then how long it took, folded.
 * @param {import("./types.js").ReasoningPart} part @returns {PartView}
 */
function reasoningView(part) {
  const text = make("p", { dir: "auto" }, part.text);
  const name = make("span", { class: "fold-brief" });
  const line = fold("spark", [name], () => [text]);
  const tail = make("p", { dir: "auto" });
  const live = make("div", { class: "reasoning-live", role: "group", "aria-label": words.thoughts, hidden: "" }, tail);
  const element = make("div", { class: "reasoning" }, line, live);
  line.addEventListener("toggle", () => update());
  const update = () => {
    element.toggleAttribute("data-live", Boolean(part.isLive));
    name.textContent = thoughtWords(part);
    if (text.textContent !== part.text) text.textContent = part.text;
    live.hidden = !part.isLive || line.open;
    tail.textContent = live.hidden ? "" : part.text.slice(-tailLength);
  };
  update();
  return { element, update };
}

/** How much of the end of a thought is shown while it grows. */
const tailLength = 600;

/** @param {import("./types.js").ReasoningPart} part */
function thoughtWords({ isLive, ms }) {
  if (isLive) return words.thinking;
  if (ms === undefined || ms === null) return words.thought;
  return ms < 1000 ? words.thoughtShortly : words.thoughtFor(duration(ms));
}

/** @type {Record<string, string>} */
const toolIcons = {
  shell: "terminal",
  current_time: "clock",
  schedule_task: "clock",
  web_fetch: "globe",
  web_search: "globe",
};

/** @param {string} tool */
function toolIcon(tool) {
  return toolIcons[tool] ?? (tool.startsWith("file_") ? "file" : "tool");
}

/** @param {ToolPart} part @returns {PartView} */
function toolView(part) {
  const state = make("span", { class: "tool-state" });
  const shortInput = make("span", { class: "fold-brief mono" });
  const summary = [make("span", { class: "fold-name mono" }, ...visible(part.name)), shortInput, state];
  const line = fold(toolIcon(part.name), summary, () => toolBody(part));
  // Shows the output so far below the line of a running tool, expanded or not. Only the result is announced.
  const live = make("pre", { class: "tool-live", role: "group", "aria-label": texts.tool.soFar, hidden: "" });
  const pictures = make("div", { class: "tool-pictures made-picture", hidden: true });
  const element = make("div", { class: "tool" }, line, live, pictures);
  const stateIcons = { running: "loop", ok: "check", error: "alert", denied: "shield" };
  let drawn = "";
  const update = () => {
    const isRunning = part.state === "running";
    const soFar = isRunning ? lastLines(part.output) : "";
    live.hidden = soFar === "";
    fill(live, ...visible(soFar));
    const now = `${part.state} ${part.ms} ${part.waits} ${!isRunning && part.output !== undefined} ${part.blocks?.length}`;
    if (now === drawn) return;
    drawn = now;
    fill(pictures, ...outputPictures(part.blocks ?? []));
    pictures.hidden = pictures.childElementCount === 0;
    fill(shortInput, ...visible(brief(part.input)));
    state.dataset.state = part.state;
    const time = !part.ms ? "" : ` · ${duration(part.ms)}`;
    const waits = part.state === "running" && part.waits;
    const mark = waits
      ? icon("shield")
      : icon(stateIcons[part.state] ?? "tool", part.state === "running" ? "spin" : "");
    fill(state, mark, waits ? texts.tool.waits : `${texts.tool[part.state] ?? ""}${time}`);
    if (line.open) line.dispatchEvent(new Event("toggle"));
  };
  update();
  return { element, update };
}

/** @param {ToolPart} part */
function toolBody(part) {
  const change = asChange(part.input);
  const blocks = outputBlocks(part.blocks ?? []);
  const section = (/** @type {string} */ label, /** @type {Node} */ content) =>
    make("div", {}, make("p", { class: "fold-label" }, ...visible(label)), content);
  return [
    change ? section(texts.tool.change, changeSheet(change, texts.tool.change)) : null,
    section(texts.tool.input, sheet(part.input ?? {}, texts.tool.input)),
    part.state === "running" || (part.blocks?.length && !part.output)
      ? null
      : section(texts.tool.output, part.output ? sheet(part.output, texts.tool.output) : noOutput()),
    ...blocks.map(({ label, content }) => section(label, content)),
  ].filter((node) => node !== null);
}
