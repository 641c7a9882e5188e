// Installs the page: registers the worker that opens the chat while the server is away. Browsers allow it on https and on this
// machine only; elsewhere everything else works the same.

import { at } from "./base.js";
import { language } from "./language.js";

/** The version of the files of this page, which is a part of their addresses. */
const tree = /\/dashboard\/static\/([^/]+)\/js\//.exec(new URL(import.meta.url).pathname)?.[1] ?? "";

/** The container of workers, where the browser has one. */
const workers = () => globalThis.navigator?.serviceWorker;

/** Registers the worker of this version. Called once the reader is signed in. @returns {Promise<ServiceWorkerRegistration | null>} */
export async function install() {
  if (!workers() || !tree) return null;
  const address = at(`/dashboard/static/service-worker.js?tree=${tree}${language === "en" ? "" : `&lang=${language}`}`);
  return workers().register(address, { scope: at("/") }).catch(() => null);
}

/** Removes the worker and its copies from this device, when the reader signs out. */
export async function uninstall() {
  try {
    const registration = await workers()?.getRegistration(at("/"));
    await registration?.unregister();
    const mine = `aethon ${at("/")} `;
    for (const name of await caches.keys()) if (name.startsWith(mine)) await caches.delete(name);
  } catch {
    // A browser that keeps nothing has nothing to remove.
  }
}
