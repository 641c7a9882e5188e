// Sessions: the searchable list, and one conversation to read. `#/sessions`, `#/sessions/ID`.

import { fill } from "../../../shared/dom.js";
import { sessionList } from "./list.js";
import { sessionPage } from "./page.js";

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const [id] = context.parts;
  const view = id ? sessionPage(context, id) : sessionList(context);
  fill(root, view.element);
  return { live: view.live, refresh: view.refresh };
}
