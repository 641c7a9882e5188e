// Approvals that wait, with exactly what would run.

import { fill, make } from "../../shared/dom.js";
import { approvalsPanel } from "../approvals.js";
import { approvalsPath } from "../approvals-path.js";

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const view = approvalsPanel(context.store, make("div", { class: "stack" }));
  context.store.watch(approvalsPath, view.update, context.signal);
  view.update();
  fill(root, view.element);
  const refresh = () => context.store.soon(approvalsPath);
  refresh();
  return { refresh };
}
