// Which code has a preview, what the preview shows, and how its file is called.

import assert from "node:assert/strict";
import test from "node:test";
import { fileName, pageOf } from "../assets/js/artefact/preview.js";
import { artefactKind } from "../assets/js/chat/artefact.js";

const picture = '<?xml version="1.0"?>\n<!-- a dot -->\n<!DOCTYPE svg PUBLIC "x" "y">\n<svg viewBox="0 0 1 1"><circle r="1"/></svg>';

test("pages and pictures have a preview, and other code has none", () => {
  const kinds = [
    ["html", "<p>x", "html"],
    ["HTML", "<!doctype html><svg></svg>", "html"],
    ["xhtml", "<html></html>", "html"],
    ["html", picture, "svg"],
    ["svg", picture, "svg"],
    ["svg", "  <svg>", "svg"],
    ["xml", picture, "svg"],
    ["xml", "<note>svg</note>", ""],
    ["xml", "<svgs></svgs>", ""],
    ["svg", "<p>", ""],
    ["rust", picture, ""],
    ["", "<p>", ""],
    ["html", "  \n", ""],
    ["svg", `${"<!-- a -->\n".repeat(100_000)}<svg>`, "svg"],
    ["html", `${"<!-- a -->".repeat(100_000)}<p>`, "html"],
    ["svg", "<!-- never closed <svg>", ""],
  ];
  for (const [label, text, kind] of kinds) assert.equal(artefactKind(label, text), kind, `${label} ${text.slice(0, 80)}`);
});

test("a picture is a page of its own element, and a page is itself", () => {
  assert.equal(pageOf("html", "<p>x"), "<p>x");
  assert.match(pageOf("svg", picture), /^<style>[^<]+<\/style><svg viewBox="0 0 1 1"><circle r="1"\/><\/svg>$/);
});

test("a file is called by the title of the page, with nothing that leads elsewhere", () => {
  const names = [
    ["html", "<p>x", "page.html"],
    ["svg", picture, "picture.svg"],
    ["html", "<title>My  page &amp; more</title>", "My-page-more.html"],
    ["html", "<title>../../etc/passwd.sh</title>", "etc-passwd-sh.html"],
    ["html", "<title>Grüße 日本</title>", "Grüße-日本.html"],
    ["html", `<title>${"x".repeat(99)}</title>`, `${"x".repeat(60)}.html`],
    ["html", "<title>???</title>", "page.html"],
  ];
  for (const [kind, code, name] of names) assert.equal(fileName(/** @type {"html" | "svg"} */ (kind), code), name);
});
