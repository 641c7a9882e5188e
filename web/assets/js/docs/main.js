// The API documentation: the operations of /openapi.json by tag, to read and to try out.

import { at } from "../shared/base.js";
import { make, fill } from "../shared/dom.js";
import { request } from "../shared/api.js";
import { docsWords as words } from "../texts/docs.js";
import { handbookWords } from "../texts/handbook.js";
import { operationView } from "./operation.js";
import { grouped } from "./schema.js";

/** @import { Path } from "../shared/api.js" */
/** @import { Document } from "./schema.js" */

/** @type {Path<Document>} */ const documentPath = "/openapi.json";

document.title = words.title;
const list = make("div", { class: "docs-list" });
const side = make("nav", { class: "docs-side", "aria-label": words.groups });
const search = make("input", {
  class: "input",
  type: "search",
  "aria-label": words.search,
  placeholder: words.search,
  autocomplete: "off",
});
document.body.append(
  make(
    "main",
    { class: "docs" },
    make(
      "header",
      { class: "docs-head" },
      make("h1", {}, words.title),
      make("p", {}, words.lead),
      make(
        "p",
        {},
        make("a", { href: at("/openapi.json") }, words.document),
        " · ",
        make("a", { href: at("/docs/handbook") }, handbookWords.title),
        " · ",
        make("a", { href: at("/dashboard") }, words.dashboard),
      ),
      search,
    ),
    make("div", { class: "docs-columns" }, side, list),
  ),
);

/** @param {string} tag */
const idOf = (tag) => `group-${tag.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;

async function load() {
  const description = await request(documentPath);
  const groups = [...grouped(description)].map(([tag, entries]) => ({
    tag,
    entries: entries.map((entry) => ({
      text: `${entry.method} ${entry.path} ${entry.operation.summary} ${tag}`.toLowerCase(),
      view: operationView(description, entry),
    })),
  }));
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    const sections = groups.map(({ tag, entries }) => {
      const views = entries.filter(({ text }) => text.includes(wanted)).map(({ view }) => view);
      return views.length
        ? make("section", { class: "docs-group", id: idOf(tag) }, make("h2", { tabindex: "-1" }, tag), ...views)
        : null;
    });
    fill(
      side,
      make(
        "ul",
        { role: "list" },
        ...groups.map(({ tag }, index) => {
          const section = sections[index];
          const count = section ? section.querySelectorAll(":scope > details").length : 0;
          const go = () => {
            section?.scrollIntoView();
            section?.querySelector("h2")?.focus({ preventScroll: true });
          };
          return section && make(
            "li",
            {},
            make("button", { type: "button", on: { click: go } }, tag, make("span", { class: "docs-count" }, String(count))),
          );
        }),
      ),
    );
    fill(list, ...(sections.some(Boolean) ? sections : [make("p", { role: "status" }, words.nothing)]));
  };
  search.addEventListener("input", show);
  show();
  const named = document.getElementById(location.hash.slice(1));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

load().catch((problem) =>
  fill(list, make("p", { role: "alert" }, `${words.failed}: ${problem instanceof Error ? problem.message : ""}`)),
);
