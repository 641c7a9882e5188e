// The types of the pages: what is not checked is not typed either.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const js = fileURLToPath(new URL("../assets/js", import.meta.url));
const modules = readdirSync(js, { recursive: true }).filter((name) => name.endsWith(".js"));

/** The types in a comment: what stands between braces that belong together. @param {string} comment @returns {string[]} */
function typesIn(comment) {
  const found = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < comment.length; at += 1) {
    if (comment[at] === "{" && depth++ === 0) from = at;
    if (comment[at] === "}" && depth > 0 && --depth === 0) found.push(comment.slice(from, at + 1));
  }
  return found;
}

/** What lets everything through in the comments of a module, each with its line. @param {string} source @returns {string[]} */
function looseIn(source) {
  const found = [];
  for (const { 0: comment, index } of source.matchAll(/\/\*\*.*?\*\//gs)) {
    const line = source.slice(0, index).split("\n").length;
    const types = typesIn(comment).map((type) => type.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, ""));
    if (types.some((type) => /\bany\b|\bObject\b|\bFunction\b|^\{[*?]\}$/.test(type))) found.push(`${line}: any`);
    // In JavaScript, what TypeScript cannot infer is `any`, unless the parameter says what else.
    for (const [, name] of comment.matchAll(/@template (\w+)/g)) found.push(`${line}: @template [${name}=unknown]`);
  }
  return found;
}

test("no type of the pages is any", () => {
  assert.ok(modules.length > 100);
  const faults = modules.flatMap((name) => looseIn(readFileSync(join(js, name), "utf8")).map((fault) => `${name}:${fault}`));
  assert.deepEqual(
    faults,
    [],
    `write the type of the server's answer (wire/api.d.ts, frames.d.ts), a type of your own, or unknown with a check:\n${faults.join("\n")}`,
  );
});

test("the search for any finds it where it is a type, and only there", () => {
  const loose = [
    "/** @param {any} one */",
    "/** @type {Record<string, any>} */",
    "/**\n * @typedef {{one: string,\n *   other: {inner: any[]}}} Two\n */",
    "/** @param {*} one */",
    "/** @param {Function} act @param {string} name */",
    "/** @template Row @param {Row[]} rows */",
  ];
  for (const comment of loose) assert.equal(looseIn(comment).length, 1, comment);
  const strict = [
    "/** Not any more: {@link other} takes any of them. @param {string} one */",
    '/** @param {"any" | "none"} choice */',
    "/** @template [Row=unknown] @param {Row[]} rows */",
    "/** @template {string} Name @param {Name} name */",
    "// @param {any} is no documentation",
    "const { any } = words;",
  ];
  for (const comment of strict) assert.deepEqual(looseIn(comment), [], comment);
});
