// Messages that contain the words of a search: asks the server for them, and draws each as a row that leads to the message.

import { request } from "../shared/api.js";
import { make } from "../shared/dom.js";
import { timeElement } from "../shared/time.js";
import { visible, visibleText } from "../shared/visible.js";
import { nameOf } from "./grouping.js";
import { hrefOf } from "./route.js";

/** @import { FoundMessage, FoundMessages } from "../wire/api.js" */

/** @import { Path } from "../shared/api.js" */

const page = 20;
const rounds = 4;

/** @param {URLSearchParams} parameters @returns {Path<FoundMessages>} */
export const searchPath = (parameters) => `/api/search?${parameters}`;

/**
 * Asks for pages until there are enough messages of this page's own channel.
 * @param {string} words @param {string} cursor
 * @returns {Promise<{hits: FoundMessage[], cursor: string}>}
 */
export async function findMessages(words, cursor) {
  /** @type {FoundMessage[]} */
  const hits = [];
  for (let round = 0; round < rounds && hits.length < page; round += 1) {
    const parameters = new URLSearchParams({ q: words, limit: String(page) });
    if (cursor) parameters.set("cursor", cursor);
    const found = await request(searchPath(parameters));
    hits.push(...found.hits.filter((hit) => hit.session_id.startsWith("webchat:")));
    cursor = found.next_cursor ?? "";
    if (!cursor) break;
  }
  return { hits, cursor };
}

/** @param {FoundMessage} hit @param {() => void} again called if the address already names the message */
export function foundRow(hit, again) {
  const name = nameOf(hit);
  const href = hrefOf(name, hit.message_id);
  return make(
    "li",
    { class: "found", data: { name: `${name}/${hit.message_id}` } },
    make(
      "a",
      { href, title: visibleText(hit.title), on: { click: () => location.hash === href && again() } },
      make("span", { class: "found-title", dir: "auto" }, ...visible(hit.title)),
      timeElement(hit.created_at, "found-time"),
      make(
        "span",
        { class: "found-text", dir: "auto" },
        ...hit.snippet.flatMap(({ text, hit: isHit }) => (isHit ? make("mark", {}, ...visible(text)) : visible(text))),
      ),
    ),
  );
}
