// What happens when the sign-in has ended. The page starts over, with its address, and asks for the token. With unsaved text it
// stays, hidden below the question, and goes on where it was.

import { at } from "../shared/base.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { signInForm } from "../shared/sign-in.js";
import { wouldLose } from "../shared/unsaved.js";
import { texts } from "../texts.js";

/** The event on the window once the user is signed in again. */
export const signedInAgain = "aethon-signed-in";

/** @type {Promise<void> | null} The question that is open. */
let asking = null;

/** Resolves when the user is signed in again; never, if the page starts over. @returns {Promise<void>} */
export function signInAgain() {
  asking ??= settle().finally(() => {
    asking = null;
  });
  return asking;
}

async function settle() {
  // A refusal may come late, after a sign-in here or in another window that it was too early for.
  const check = await fetch(at("/api/status"), { cache: "no-store" }).catch(() => null);
  if (check?.status !== 401) return;
  if (wouldLose()) return ask();
  location.reload();
  return new Promise(() => {});
}

/** @returns {Promise<void>} */
function ask() {
  return new Promise((resolve) => {
    const signedIn = () => {
      dialog.close();
      resolve();
      dispatchEvent(new Event(signedInAgain));
    };
    const lead = make("p", {}, `${texts.signIn.ended} ${texts.signIn.lead}`);
    // Nothing but the token leads past it.
    const dialog = openDialog({
      title: texts.signIn.title,
      body: [lead, signInForm(signedIn)],
      look: "dialog-gate",
      closing: () => {},
    });
    dialog.querySelector("input")?.focus();
  });
}
