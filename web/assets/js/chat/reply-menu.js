// The menu below a reply: copying it in two forms, reading it aloud, going on from it in another conversation, and putting back the
// files that its tools have changed.

import { copyText } from "../shared/copy.js";
import { iconButton } from "../shared/controls.js";
import { rowMenu } from "../shared/menu.js";
import { toast } from "../shared/toast.js";
import { texts } from "../texts.js";
import { fileWords } from "../texts/file-changes.js";
import { forkWords } from "../texts/forks.js";
import { readingWords as words } from "../texts/reading.js";
import { openPutBack } from "./put-back.js";
import { hasVoice, readAloud, spokenText, stopReading } from "./read-aloud.js";
import { copyRich } from "./rich-copy.js";

/** @import { Turn } from "./types.js" */
/** @import { FileOffer } from "./changed-files.js" */
/** @import { MenuItem } from "../shared/menu.js" */

/** Whether a reply is being read, and what to call when that changes. @typedef {{isOn: boolean, changed: () => void}} Voice */

/**
 * @param {() => Turn} turn
 * @param {() => Element[]} blocks the blocks as they are shown
 * @param {{voice: Voice, fork: (() => void) | null, files: () => FileOffer | null}} more `fork` begins another conversation with
 *   everything up to here, `files` are those that can be put back
 */
export function replyMenu(turn, blocks, { voice, fork, files }) {
  return rowMenu(words.more, () => {
    const { source, blocks: html } = turn().reply;
    const offer = files();
    /** @type {MenuItem[]} */
    const items = [];
    if (source)
      items.push(
        { label: words.copyMarkdown, icon: "copy", press: () => say(copyText(source), words.copiedMarkdown) },
        { label: words.copyRich, icon: "copy", press: () => say(copyRich(html, source), words.copiedRich) },
      );
    if (voice.isOn) items.push({ label: words.stopReading, icon: "stop", press: stopReading });
    else if (source && hasVoice()) items.push({ label: words.readAloud, icon: "play", press: () => begin(blocks(), voice) });
    if (fork) items.push({ label: forkWords.fork, icon: "branch", press: fork });
    if (offer)
      items.push({ label: fileWords.putBack(offer.names.length), icon: "retry", press: () => openPutBack(offer) });
    return items;
  });
}

/** The button that ends the reading. */
export const stopButton = () =>
  iconButton({ label: words.stopReading, icon: "stop", look: "icon-button-small is-reading", press: stopReading });

/** @param {Element[]} blocks @param {Voice} voice */
function begin(blocks, voice) {
  // Where there is nothing to say, it ends before it returns.
  voice.isOn = true;
  readAloud(spokenText(blocks), () => {
    voice.isOn = false;
    voice.changed();
  });
  voice.changed();
}

/** @param {Promise<boolean>} copied @param {string} done */
async function say(copied, done) {
  toast((await copied) ? done : texts.turn.copyFailed);
}
