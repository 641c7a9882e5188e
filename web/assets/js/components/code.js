// Verbatim text with a copy button, and the diff of two texts.

import { copyButton } from "../shared/copy.js";
import { make } from "../shared/dom.js";
import { visible, visibleText } from "../shared/visible.js";
import { shell } from "../texts/shell.js";
import { lineDiff, shortened } from "./line-diff.js";

/** @param {string} text @param {string} label its name for screen readers */
export function codeBox(text, label) {
  return make(
    "div",
    { class: "code-box" },
    make("pre", { tabindex: "0", role: "group", "aria-label": visibleText(label) }, ...visible(text)),
    copyButton(shell.copy, () => text),
  );
}

/** @param {string} before @param {string} after @param {string} [label] */
export function diffView(before, after, label = shell.showDiff) {
  const list = make("ol", {});
  for (const line of shortened(lineDiff(before, after))) {
    if (line.kind === "skip") {
      list.append(make("li", { data: { kind: "skip" } }, `··· ${shell.skipped(line.count)}`));
      continue;
    }
    const sign = { add: "+", del: "−", same: " " }[line.kind];
    const word = line.kind === "add" ? shell.addedLine : line.kind === "del" ? shell.removedLine : "";
    list.append(
      make(
        "li",
        { data: { kind: line.kind } },
        word && make("span", { class: "visually-hidden" }, `${word}: `),
        make("span", { "aria-hidden": "true" }, `${sign} `),
        ...visible(line.text),
      ),
    );
  }
  return make("div", { class: "diff-view", tabindex: "0", role: "group", "aria-label": label }, list);
}
