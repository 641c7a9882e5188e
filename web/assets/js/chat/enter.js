// What the Enter key means while one writes. Where fingers type there is no Shift to hold, so Enter breaks the line there
// and the button sends.

const fingers = matchMedia("(pointer: coarse)");

/** What the key on the screen says. */
export const enterHint = () => (fingers.matches ? "enter" : "send");

/** Whether this key sends what is written. @param {KeyboardEvent} event */
export function sends(event) {
  if (event.key !== "Enter" || isComposing(event) || event.shiftKey || event.altKey) return false;
  const command = event.ctrlKey || event.metaKey;
  return fingers.matches ? command : !command;
}

/** Whether an input method has taken the key; some browsers tell it only by the number 229. @param {KeyboardEvent} event */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;
