// Recordings of conversations: the list, or the one named in the address.

import { mountList } from "../recordings/list.js";
import { mountOne } from "../recordings/open.js";

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const [name] = context.parts;
  return name ? mountOne(root, context, name) : mountList(root, context);
}
