// The dashboard: connects the frame, the connection, the data and the panel named in the address.

import { install, uninstall } from "../shared/installed.js";
import { request } from "../shared/api.js";
import { dropDrafts } from "../shared/draft-store.js";
import { pause } from "../shared/pause.js";
import { keepTimes } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { texts } from "../texts.js";
import { followAddress } from "./address.js";
import { noteDecision } from "./approvals.js";
import { approvalsPath } from "./approvals-path.js";
import { buildFrame } from "./frame.js";
import { PanelHost } from "./host.js";
import { Live, topics } from "./live.js";
import { signedInAgain } from "./denied.js";
import { budgetPath, showFacts } from "./facts.js";
import { statusPath } from "../shared/status-path.js";
import { listenForKeys } from "./keys.js";
import { importWithRetry } from "./import-with-retry.js";
import { Store } from "./store.js";

const everywhere = [statusPath, approvalsPath, budgetPath];
void begin();

/** Starts step by step, because each takes a phone long. */
async function begin() {
  const store = new Store();
  await pause();
  const search = async () => (await importWithRetry("palette")).openPalette({ store, signOut: () => void signOut() });
  /** @type {Live | undefined} */ let live;
  const frame = buildFrame({
    search: () => void search(),
    retry: () => live?.retryNow(),
    signOut: () => void signOut(),
  });
  const first = firstLink();
  const host = new PanelHost(frame, store, () => live?.link.phase === "open", first.settled);
  // First of all: what is asked for once events flow need not be asked for again, and the panel's module loads meanwhile.
  live = new Live(topics, onEvent(store, frame, host, first));
  await pause();
  store.addEventListener(
    "change",
    (event) => everywhere.includes(/** @type {CustomEvent} */ (event).detail) && showFacts(frame, store),
  );
  followAddress(() => void host.follow());
  listenForKeys({ search: () => void search() });
  void host.follow();
  void first.settled.then(() => {
    for (const path of everywhere) void store.load(path);
  });
  await pause();
  addEventListener(signedInAgain, () => live?.retryNow());
  setInterval(() => !document.hidden && void store.load(statusPath), 60000);
  document.addEventListener("visibilitychange", () => !document.hidden && void store.load(statusPath));
  keepTimes();
  void install();
}

/** How long the first answers wait for the connection. */
const patienceMs = 800;

/** The first attempt to connect: settled when it has succeeded or failed, or when it takes long. */
function firstLink() {
  let isSettled = false;
  let settle = () => {};
  const settled = /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      settle = () => {
        isSettled = true;
        resolve();
      };
    })
  );
  setTimeout(settle, patienceMs);
  return { settled, settle: () => settle(), isSettled: () => isSettled };
}

/**
 * Handles the service's events.
 * @param {Store} store @param {import("./frame.js").Frame} frame @param {PanelHost} host @param {ReturnType<typeof firstLink>} first
 */
function onEvent(store, frame, host, first) {
  let wasOpen = false;
  const linked = (/** @type {import("../shared/banner.js").Link} */ link) => {
    frame.setLink(link);
    const isFirst = !first.isSettled();
    first.settle();
    if (link.phase !== "open") return;
    if (isFirst) {
      // Nothing was asked for before.
      wasOpen = true;
      return;
    }
    // Reloads what may have changed without an event. Before the first connection that was only a moment, so data that a timer
    // reloads anyway can wait.
    for (const path of wasOpen ? everywhere : [approvalsPath, budgetPath]) store.soon(path);
    host.refresh(!wasOpen);
    wasOpen = true;
  };
  return (/** @type {import("./live.js").Heard} */ ...heard) => {
    if (heard[0] === "link") return linked(heard[1]);
    // Probably for want of a sign-in: the status tells, and leads there.
    if (heard[0] === "refused") return void store.load(statusPath);
    const [topic, data] = heard;
    if (topic === "config") for (const path of everywhere) void store.load(path);
    if (topic === "approvals") {
      noteDecision(data);
      store.soon(approvalsPath);
    }
    if (topic === "usage") store.soon(budgetPath);
    if (topic === "lagged") {
      for (const path of everywhere) store.soon(path);
      host.refresh();
    }
    host.onEvent(...heard);
  };
}

async function signOut() {
  try {
    // First, because the end of the sign-in reloads the page, which would cut this off.
    await uninstall();
    await request("/api/sign-out", { method: "POST", body: {} });
    // Whoever signs in next here does not read what this user typed.
    dropDrafts();
    location.reload();
  } catch {
    void install();
    toast(texts.dashboard.signOutFailed);
  }
}
