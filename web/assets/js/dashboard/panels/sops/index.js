// SOPs: the list and the runs, one SOP to read, and the editor. `#/sops`, `#/sops/runs` as a tab, `#/sops/NAME`,
// `#/sops/NAME/edit`, `#/sops/new`. No SOP can hide behind those words: they are only taken where the second part is missing or
// `edit`.

import { fill } from "../../../shared/dom.js";
import { sopEditor } from "./editor.js";
import { sopList } from "./list.js";
import { sopPage } from "./page.js";

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const [name, action] = context.parts;
  const view = !name
    ? sopList(context)
    : name === "new" || action === "edit"
      ? sopEditor(context, name === "new" ? "" : name)
      : sopPage(context, name);
  fill(root, view.element);
  return { live: view.live, refresh: view.refresh };
}
