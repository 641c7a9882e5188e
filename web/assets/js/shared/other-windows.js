// Announces to the other windows of this browser what happened here, so that they need not find out by themselves.

/** @type {BroadcastChannel | null} */
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("aethon");

/** @param {string} what */
export const announceToWindows = (what) => channel?.postMessage(what);

/** @param {string} what @param {() => void} react @param {AbortSignal} [signal] */
export function onAnnounced(what, react, signal) {
  channel?.addEventListener("message", ({ data }) => data === what && react(), { signal });
}
