// The dashboard: puts together the frame, the connection, the data and the panel that the address names.

import { request } from "../shared/api.js";
import { keepTimes } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { texts } from "../texts.js";
import { approvalsPath } from "./approvals-path.js";
import { buildFrame } from "./frame.js";
import { PanelHost } from "./host.js";
import { Live, topics } from "./live.js";
import { budgetPath, showFacts, statusPath } from "./facts.js";
import { listenForKeys } from "./keys.js";
import { later } from "./later.js";
import { Store } from "./store.js";

const store = new Store();
const search = async () => (await later("palette")).openPalette({ store, signOut: () => void signOut() });
const frame = buildFrame({ search: () => void search(), retry: () => live.retryNow(), signOut: () => void signOut() });
const host = new PanelHost(frame, store, () => live.link.phase === "open");
const everywhere = [statusPath, approvalsPath, budgetPath];

const live = new Live(topics, (topic, data) => {
  if (topic === "link") return linked(data);
  if (topic === "approvals") store.soon(approvalsPath);
  if (topic === "usage") store.soon(budgetPath);
  if (topic === "lagged") {
    for (const path of everywhere) store.soon(path);
    host.refresh();
  }
  host.hear(topic, data);
});

store.addEventListener("change", () => showFacts(frame, store));
addEventListener("hashchange", () => void host.follow());
listenForKeys({ search: () => void search() });
setInterval(() => !document.hidden && void store.load(statusPath), 15000);
keepTimes();
for (const path of everywhere) void store.load(path);
void host.follow();

/** @param {import("../shared/banner.js").Link} link */
function linked(link) {
  frame.setLink(link);
  if (link.phase !== "open") return;
  // What happened while nobody told of it is asked for.
  for (const path of everywhere) store.soon(path);
  host.refresh();
}

async function signOut() {
  try {
    await request("/api/sign-out", { method: "POST", body: {} });
    location.reload();
  } catch {
    toast(texts.dashboard.signOutFailed);
  }
}
