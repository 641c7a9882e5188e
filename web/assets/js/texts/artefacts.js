// The words of the preview of a page or a picture in an answer.

import { translated } from "../shared/language.js";

export const artefactWords = translated("artefacts", {
  preview: "Preview",
  hint: "Show what this code looks like, in a sealed frame without network",
  /** The accessible name of the switch between the two. */
  choice: "Code or preview",
  code: "Code",
  /** The accessible name of the frame. */
  frame: "Preview of this code",
  height: "Height of the preview",
  full: "Full screen",
  shrink: "Leave full screen",
  save: "Save as file",
  close: "Close the preview",
  blocked: "This page wants something from the network, which a preview does not have. It may look incomplete.",
  failed: "The preview could not be loaded. Reload the page and try again.",
});
