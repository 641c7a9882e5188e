// Scrolls a part of a reply into view, within the conversation. `scrollIntoView` would scroll the page around it too.

/** How far from the edges, which fade out, it comes to rest. */
const clear = 28;

/** @param {HTMLElement} element @param {boolean} toTop whether it moves to the top even if it is in sight */
export function reveal(element, toTop) {
  const scroller = element.closest(".transcript");
  if (!scroller) return element.scrollIntoView({ block: toTop ? "start" : "nearest" });
  const move = () => {
    const [own, view] = [element.getBoundingClientRect(), scroller.getBoundingClientRect()];
    const above = own.top - view.top - clear;
    const below = own.bottom - view.bottom + clear;
    if (toTop || above < 0) scroller.scrollTop += above;
    else if (below > 0) scroller.scrollTop += below;
  };
  move();
  // What comes into view for the first time takes its true height only then.
  requestAnimationFrame(move);
}
