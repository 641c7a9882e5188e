// Many events in one moment are one change of what is shown.

/**
 * @param {{signal: AbortSignal}} context of the panel: nothing is shown after it is gone
 * @param {number} wait milliseconds from the first call to the change
 * @param {() => void} show
 */
export function gathered({ signal }, wait, show) {
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
