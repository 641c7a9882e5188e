// Announces to screen readers what happens: politely and in whole blocks, never letter by letter.

import { make } from "../shared/dom.js";
import { texts } from "../texts.js";
import { spokenLines } from "./spoken.js";

/** @import { TurnFrame } from "../wire/frames.js" */
/** @import { Turn } from "./types.js" */

export class Announcer {
  element = make("div", { class: "visually-hidden", "aria-live": "polite", "aria-atomic": "false", id: "announcer" });
  /** @type {WeakMap<Turn, number>} How many blocks of a turn were announced. */ #announced = new WeakMap();

  /** @param {string} text */
  announce(text) {
    const line = make("p", {}, text);
    this.element.append(line);
    setTimeout(() => line.remove(), 15000);
  }

  /** Announces the completed blocks. @param {Turn} turn @param {TurnFrame} frame @param {(index: number) => Element | undefined} blockOf */
  follow(turn, frame, blockOf) {
    if (frame.type === "tool" && frame.state === "running" && frame.output === undefined)
      this.announce(texts.announce.tool(frame.name));
    if (frame.type === "approval") this.announce(texts.approval.announce(frame.tool));
    if (frame.type === "error") this.announce(frame.message);
    const complete = turn.state === "done" ? turn.reply.blocks.length : turn.reply.blocks.length - 1;
    for (let index = this.#announced.get(turn) ?? 0; index < complete; index += 1) {
      const block = blockOf(index);
      for (const line of block ? describe(block) : []) this.announce(line);
      this.#announced.set(turn, index + 1);
    }
    if (frame.type === "done") this.announce(texts.turn.stopReasons[turn.stopReason] ?? texts.announce.done);
  }
}

/** @param {Element} block @returns {string[]} */
function describe(block) {
  const code = block.querySelector(".code figcaption span");
  if (code) return [texts.announce.code(code.textContent ?? "")];
  const rows = block.querySelectorAll("tbody tr").length;
  return rows > 0 ? [texts.announce.table(rows)] : spokenLines(block);
}
