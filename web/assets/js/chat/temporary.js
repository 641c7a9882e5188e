// Temporary conversations: the server keeps them in memory and knows them by their names. The page ends one when it is left.

import { request, sessionPath } from "../shared/api.js";
import { note } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { temporaryWords } from "../texts/temporary.js";
import { moveDrafts } from "./drafts.js";
import { currentName, hrefOf, isTemporary, temporaryName } from "./route.js";

/** @import { Outbox } from "./outbox.js" */
/** @import { Session } from "./session.js" */

/** The line above a temporary conversation that says what it is. */
export class TemporaryNote {
  element = make("div", { class: "temporary", hidden: true }, note({ text: temporaryWords.note, icon: "hourglass" }));

  /** @param {string} name the conversation that is open */
  show(name) {
    this.element.hidden = !isTemporary(name);
  }
}

/**
 * Gives a temporary conversation that a reload has ended a new name, with what was not sent in it yet.
 * @param {Outbox} outbox @param {Set<string>} fresh the names of new conversations
 */
export function renewTemporary(outbox, fresh) {
  const over = currentName();
  if (!isTemporary(over)) return;
  const name = temporaryName();
  fresh.add(name);
  moveDrafts(over, name);
  outbox.move(over, name);
  history.replaceState(null, "", hrefOf(name));
  toast(temporaryWords.over);
}

/** Ends a conversation if it is temporary. @param {Session | null} session @param {Outbox} outbox */
export function endTemporary(session, outbox) {
  if (!session || !isTemporary(session.name)) return;
  for (const { id } of outbox.of(session.name)) outbox.remove(id);
  void tellEnd(session);
}

/**
 * Ends the temporary conversation that is open when the page is left, whichever way.
 * @param {() => Session | null} current
 */
export function endOnLeaving(current) {
  const open = () => {
    const session = current();
    return session && isTemporary(session.name) ? session : null;
  };
  addEventListener("pagehide", () => {
    const session = open();
    if (session) void tellEnd(session);
  });
  // The browser shows the page as it was, but the conversation is over.
  addEventListener("pageshow", (event) => {
    if (event.persisted && open()) location.reload();
  });
}

/** @param {Session} session */
async function tellEnd({ name, conversation }) {
  // Where nothing was said, there is nothing to end.
  if (!conversation.turns().some((turn) => turn.id)) return;
  try {
    await request(`${sessionPath(name)}?now=true`, { method: "DELETE", keepalive: true });
  } catch {
    // The server is away; it ends the conversation by itself.
  }
}
