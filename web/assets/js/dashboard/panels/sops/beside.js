// What stands beside the text of an SOP while it is edited: how it reads, its outline, and its earlier versions.

import { diffView } from "../../../components/code.js";
import { openDrawer } from "../../../components/drawer.js";
import { rendered } from "../../../components/rendered.js";
import { errorState } from "../../../components/state.js";
import { tabs } from "../../../components/tabs.js";
import { button, skeleton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { exactly } from "../../../shared/time.js";
import { visible } from "../../../shared/visible.js";
import { besideWords as words } from "../../../texts/sop-editor.js";
import { shell } from "../../../texts/shell.js";
import { versionsPath } from "./versions-path.js";
import { headingsOf } from "./lines.js";

/** @import { Context } from "../../context.js" */
/** @import { SopVersion as Version } from "../../../wire/api.js" */

/**
 * @param {Context} context
 * @param {{name: string, text: () => string, goTo: (line: number) => void, take: (text: string) => void}} of `name` is empty for a new
 *   one, which has no versions
 */
export function beside(context, of) {
  const preview = make("div", { class: "sop-preview" }, make("p", { class: "field-hint" }, words.noPreview));
  const outline = make("nav", { class: "sop-outline", "aria-label": words.outline });
  const { element } = tabs({
    label: words.label,
    tabs: [
      { id: "preview", label: words.preview, view: () => preview },
      { id: "outline", label: words.outline, view: () => outline },
      ...(of.name ? [{ id: "versions", label: words.versions, view: () => versionList(context, of) }] : []),
    ],
  });
  element.classList.add("sop-beside");
  let drawn = "";
  const showOutline = () => {
    const headings = headingsOf(of.text().split("\n"));
    const says = JSON.stringify(headings);
    if (says === drawn) return;
    drawn = says;
    if (headings.length === 0) return fill(outline, make("p", { class: "field-hint" }, words.noOutline));
    fill(
      outline,
      make(
        "ol",
        { role: "list" },
        ...headings.map(({ line, level, title }) =>
          make(
            "li",
            { data: { level: String(level) } },
            make(
              "button",
              { type: "button", on: { click: () => of.goTo(line) } },
              make("span", {}, ...visible(title)),
              make("span", { class: "sop-outline-line" }, words.line(line)),
            ),
          ),
        ),
      ),
    );
  };
  showOutline();
  return {
    element,
    showOutline,
    /** @param {string[]} html */
    showPreview: (html) =>
      html.length > 0
        ? fill(preview, make("h2", { class: "visually-hidden" }, words.preview), rendered(html))
        : fill(preview, make("p", { class: "field-hint" }, words.noPreview)),
  };
}

/** @param {Context} context @param {{name: string, text: () => string, take: (text: string) => void}} of */
function versionList(context, { name, text, take }) {
  const element = make("div", {}, skeleton(3));
  const load = async () => {
    try {
      const { versions = [] } = await context.request(versionsPath(name));
      if (context.signal.aborted) return;
      if (versions.length === 0) return fill(element, make("p", { class: "field-hint" }, words.noVersions));
      fill(
        element,
        make("p", { class: "field-hint" }, words.versionsHint),
        make("ol", { class: "sop-versions", role: "list" }, ...versions.map(row)),
      );
    } catch (problem) {
      if (context.signal.aborted) return;
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void load() });
      fill(
        element,
        errorState({ title: words.versionsFailed, text: /** @type {Error} */ (problem).message, action: again }),
      );
    }
  };
  const row = (/** @type {Version} */ version) => {
    const when = exactly(version.replaced_at);
    const press = (/** @type {string} */ label, /** @type {() => void} */ act) => {
      const control = button({ label, look: "button-small", press: act });
      control.setAttribute("aria-label", `${label}: ${words.until(when)}`);
      return control;
    };
    return make(
      "li",
      {},
      make("div", { class: "sop-version-when" }, words.until(when)),
      press(words.difference, () =>
        openDrawer({
          title: words.until(when),
          body: [diffView(version.content, text(), words.difference)],
          closed: () => {},
        }),
      ),
      press(words.take, () => take(version.content)),
    );
  };
  void load();
  return element;
}
