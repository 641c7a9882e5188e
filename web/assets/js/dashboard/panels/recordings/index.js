// Recordings of conversations: the list, or the one named in the address.

import { mountList } from "./list.js";
import { mountOne } from "./open.js";

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const [name] = context.parts;
  return name ? mountOne(root, context, name) : mountList(root, context);
}
