// Notifications of this device while no page is open: asks the browser for an address at its push service, and hands it to the
// server. Only the switch in the chat begins this; afterwards each start hands it over again, for the sign-in of that time.

import { request } from "./api.js";
import { install } from "./installed.js";
import { recall, remember } from "./storage.js";

/** @import { PushKey } from "../wire/api.js" */
/** @import { Path } from "./api.js" */

const key = "aethon.push";
const path = "/api/push/subscriptions";
/** @type {Path<PushKey>} */ const keyPath = "/api/push/key";

/** Whether this device is notified by the server. */
export const isPushed = () => recall(key) === "on";

/** Asks for notifications of this device. @returns {Promise<boolean>} whether the server sends them */
export async function subscribe() {
  const push = (await install())?.pushManager;
  if (!push) return false;
  const { key: wanted } = await request(keyPath);
  let subscription = await push.getSubscription();
  // One that was made for another home, or for a key that was lost, receives nothing.
  if (subscription && text(subscription.options.applicationServerKey) !== wanted) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await push.subscribe({ userVisibleOnly: true, applicationServerKey: wanted });
  await request(path, { method: "POST", body: subscription.toJSON() });
  remember(key, "on");
  return true;
}

/** Ends them. */
export async function unsubscribe() {
  remember(key, null);
  const subscription = await (await install())?.pushManager?.getSubscription();
  if (!subscription) return;
  await subscription.unsubscribe();
  // The server notices by itself as well, as soon as it sends something.
  await request(path, { method: "DELETE", body: { endpoint: subscription.endpoint } }).catch(() => null);
}

/** Hands the address over again. The server forgets it with the sign-in under which it was given. */
export async function renew() {
  if (isPushed() && globalThis.Notification?.permission === "granted") await subscribe().catch(() => false);
}

/** @param {ArrayBuffer | null} bytes */
function text(bytes) {
  const letters = String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0)));
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
