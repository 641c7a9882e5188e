// The meaning of Enter while writing. A touch keyboard has no Shift to hold, so there Enter inserts a line break and the button
// sends.

const fingers = matchMedia("(pointer: coarse)");

/** Whether Enter begins a line, and the button sends. */
export const entersLine = () => fingers.matches;

/** The label of the on-screen Enter key. */
export const enterHint = () => (entersLine() ? "enter" : "send");

/** Returns whether this key press sends the message. @param {KeyboardEvent} event */
export function sends(event) {
  if (event.key !== "Enter" || isComposing(event) || event.shiftKey || event.altKey) return false;
  const command = event.ctrlKey || event.metaKey;
  return entersLine() ? command : !command;
}

/** Whether an input method handles the key; some browsers report that only by key code 229. @param {KeyboardEvent} event */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;
