// Looks again, now and then, at something that is open, because it may be changed where no event tells of it: in a file, in a
// terminal, by another program. Not while the page is hidden, and at once when it is seen again.

const everyMs = 4000;

/** @param {() => Promise<unknown>} look @param {AbortSignal} signal */
export function lookAgain(look, signal) {
  let isLooking = false;
  const go = async () => {
    if (isLooking || document.hidden || signal.aborted) return;
    isLooking = true;
    // What is not found out now is found out the next time.
    await look().catch(() => undefined);
    isLooking = false;
  };
  const timer = setInterval(() => void go(), everyMs);
  document.addEventListener("visibilitychange", () => void go(), { signal });
  addEventListener("focus", () => void go(), { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}
