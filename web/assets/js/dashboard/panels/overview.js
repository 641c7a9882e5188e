// The state of the service.

import { fill, make } from "../../shared/dom.js";
import { approvalsPath } from "../approvals-path.js";
import { logsPath } from "../logs.js";
import { overview, statusPath } from "../overview.js";
import { usageTodayPath } from "../usage.js";

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const view = overview(context.store, make("div", { class: "stack" }));
  const paths = [statusPath, approvalsPath, logsPath(8), usageTodayPath];
  context.store.addEventListener("change", view.update, { signal: context.signal });
  view.update();
  fill(root, view.element);
  const refresh = () => paths.forEach((path) => context.store.soon(path));
  refresh();
  return { refresh, live: (topic) => topic === "logs" && context.store.soon(logsPath(8)) };
}
