// The commands of the open conversation: those of the slash menu, and the menu beside the title.

import { sessionPath } from "../shared/api.js";
import { toast } from "../shared/toast.js";
import { exportWords } from "../texts/bin.js";
import { instructionWords, slashWords as words } from "../texts/slash.js";
import { temporaryWords } from "../texts/temporary.js";
import { openInstructions } from "./instructions.js";
import { openPrompts } from "./prompts-dialog.js";
import { isCommand } from "./turn.js";

/** @import { MenuItem } from "../shared/menu.js" */
/** @import { Finding } from "./finding.js" */
/** @import { Session } from "./session.js" */
/** @import { Command } from "./slash-menu.js" */
/** @import { Turn } from "./types.js" */

/**
 * @param {{session: () => Session | null, newChat: () => void, newTemporary: () => void, retry: (turn: Turn) => void, editLast: () => void,
 *   chooseModel: () => void, find: () => void, promptsChanged: () => void}} page
 * @returns {Command[]} those that can be used now
 */
export function commandsFor(page) {
  const session = page.session();
  if (!session) return [];
  const done = session.conversation.turns().filter((turn) => turn.id && turn.state === "done");
  const last = done.at(-1);
  const asked = done.filter((turn) => !isCommand(turn));
  const lastAsked = asked.at(-1);
  const command = (/** @type {keyof typeof words.details} */ name, /** @type {() => void} */ run) => ({
    name,
    detail: words.details[name],
    run,
  });
  return [
    command("new", page.newChat),
    ...(lastAsked ? [command("retry", () => page.retry(lastAsked))] : []),
    ...(asked.some(({ said }) => said) ? [command("edit", page.editLast)] : []),
    command("model", page.chooseModel),
    { name: "temporary", detail: temporaryWords.command, run: page.newTemporary },
    ...(last
      ? [
          command("find", page.find),
          command("export", () => exportSession(session)),
        ]
      : []),
    command("instructions", () => void openInstructions(session.name)),
    command("prompts", () => openPrompts(page.promptsChanged)),
  ];
}

/** The menu beside the title. @param {Session | null} session @param {Finding} finding @returns {MenuItem[]} */
export function menuFor(session, finding) {
  if (!session) return [];
  return [
    ...finding.items(),
    { label: instructionWords.menu, icon: "edit", press: () => void openInstructions(session.name) },
    ...(session.isStored
      ? [{ label: exportWords.allVersions, icon: "download", press: () => exportSession(session, "&versions=all") }]
      : []),
  ];
}

/** Has the browser save the conversation. @param {Session} session @param {string} [query] */
function exportSession(session, query = "") {
  if (!session.isStored) return toast(words.nothingToExport);
  const link = document.createElement("a");
  link.href = `${sessionPath(session.name)}/export?format=markdown${query}`;
  link.download = "";
  link.click();
}
