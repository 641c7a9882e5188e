// The words of the slash menu, of saved prompts, and of the instructions of a conversation.

import { translated } from "../shared/language.js";

export const slashWords = translated("slash.slashWords", {
  list: "Commands, prompts and SOPs",
  commands: "Commands",
  prompts: "Saved prompts",
  sops: "SOPs",
  /** @param {string} name */
  optional: (name) => `${name} (optional)`,
  /** @param {number} count */
  count: (count) => (count === 1 ? "One suggestion" : `${count} suggestions`),
  details: {
    new: "Begin a new conversation",
    retry: "Answer the last message again",
    edit: "Edit your last message",
    model: "Choose the model of this conversation",
    find: "Find words in this conversation",
    export: "Save this conversation as a Markdown file",
    instructions: "What the assistant heeds in this conversation",
    prompts: "Write and change saved prompts",
  },
  /** @param {string} name @param {string} near */
  unknown: (name, near) =>
    `There is no command /${name} here, and nothing was sent.${near ? ` The nearest is /${near}.` : " A slash alone lists those there are."} To send it as a message, begin with two slashes: //${name}`,
  nothingToExport: "There is nothing in this conversation yet.",
});

export const promptWords = translated("slash.promptWords", {
  title: "Saved prompts",
  lead: "Type a slash and the name in the message box to write one of these. {{Gaps}} are selected, so that you can fill them in.",
  none: "No prompts are saved yet.",
  add: "New prompt",
  /** @param {string} name */
  edit: (name) => `Edit ${name}`,
  /** @param {string} name */
  remove: (name) => `Delete ${name}`,
  name: "Name",
  nameHint: "Lower-case letters, digits and hyphens.",
  content: "Prompt",
  save: "Save",
  back: "Back",
  close: "Close",
  removed: "The prompt was deleted.",
  undo: "Undo",
  loading: "Loading the prompts …",
  /** @param {string} why */
  failed: (why) => `The prompts could not be loaded. ${why}`,
  /** @param {string} name */
  exists: (name) => `There is a prompt named ${name} already. Choose another name.`,
  badName: "The name must be 1 to 64 lower-case letters, digits and hyphens.",
  empty: "Write the prompt first.",
  stayed: "Nothing was saved: the prompt was changed elsewhere.",
});

export const instructionWords = translated("slash.instructionWords", {
  menu: "Instructions …",
  title: "Instructions for this conversation",
  label: "Instructions",
  hint: "They follow the assistant's own instructions, from the next message on. Leave the box empty for none.",
  name: "the instructions",
  save: "Save",
  cancel: "Cancel",
  saved: "The instructions are in force from the next message on.",
  cleared: "The conversation has no instructions of its own any more.",
  /** @param {string} why */
  failed: (why) => `The instructions could not be loaded. ${why}`,
});
