// Not built yet.

import { fill } from "../../shared/dom.js";
import { shell } from "../../texts/shell.js";
import { state } from "../../components/state.js";

/** @type {import("../panels.js").Mount} */
export function mount(root) {
  fill(root, state({ icon: "empty", title: shell.notBuilt, text: shell.notBuiltHint }));
}
