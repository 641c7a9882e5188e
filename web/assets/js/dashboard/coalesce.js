// Combines a burst of events into one update of the display.

/**
 * @param {{signal: AbortSignal}} context of the panel, after whose end nothing is shown
 * @param {number} wait milliseconds from the first call to the update
 * @param {() => void} show
 */
export function coalesce({ signal }, wait, show) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      if (!signal.aborted) show();
    }, wait);
  };
}
