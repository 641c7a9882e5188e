// The newest log records.

import { fill } from "../../shared/dom.js";
import { levelChoice, logView, logsPath } from "../logs.js";

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const view = logView(context.store, 200);
  context.store.addEventListener("change", view.update, { signal: context.signal });
  view.update();
  fill(root, view.element);
  fill(context.tools, levelChoice(context.store, 200));
  void context.store.load(logsPath(200));
  const refresh = () => context.store.soon(logsPath(200));
  return { refresh, live: (topic) => topic === "logs" && refresh() };
}
