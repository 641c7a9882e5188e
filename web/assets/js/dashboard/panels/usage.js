// What the models took.

import { fill } from "../../shared/dom.js";
import { daysChoice, usagePanel, usagePath } from "../usage.js";

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const view = usagePanel(context.store);
  context.store.addEventListener("change", view.update, { signal: context.signal });
  view.update();
  fill(root, view.element);
  fill(context.tools, daysChoice(context.store));
  void context.store.load(usagePath());
  const refresh = () => context.store.soon(usagePath());
  return { refresh, live: (topic) => topic === "usage" && refresh() };
}
