// The catalogues: English is the source, every other language is complete, and no text stands outside of them.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const web = fileURLToPath(new URL("..", import.meta.url));
const js = join(web, "assets/js");
/** The languages beside English: the folders of the catalogues. */
const languages = readdirSync(join(js, "texts"), { withFileTypes: true }).filter((it) => it.isDirectory()).map((it) => it.name);
/** What each page begins with. */
const entries = {
  chat: ["chat/main.js", "chat/voice.js"],
  dashboard: ["dashboard/main.js", "dashboard/palette.js", ...panels()],
  docs: ["docs/main.js"],
  "sign-in": ["sign-in/main.js"],
};

function panels() {
  return readdirSync(join(js, "dashboard/panels"), { withFileTypes: true })
    .filter((it) => it.isDirectory())
    .map((it) => `dashboard/panels/${it.name}/index.js`);
}

/** All files below a folder, by their names in it. @param {string} folder @returns {string[]} */
const below = (folder) => readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile()).map((it) => relative(folder, join(it.parentPath, it.name)));
const read = (/** @type {string} */ name) => readFileSync(join(js, name), "utf8");
const modules = below(js).filter((name) => name.endsWith(".js"));
const isCatalogue = (/** @type {string} */ name) => name === "texts.js" || /^texts\/[^/]+\.js$/.test(name);
const catalogues = modules.filter(isCatalogue);
const others = modules.filter((name) => !name.startsWith("texts"));

/** The exports of a catalogue and the names under which a language has them. @param {string} name @returns {[string, string][]} */
const exported = (name) => [...read(name).matchAll(/^export const (\w+) = translated\("([^"]+)",/gm)].map(([, own, key]) => [own, key]);

/** Where the words of a catalogue stand in a language. @param {string} language @param {string} name */
const inLanguage = (language, name) => `texts/${language}/${name.split("/").at(-1)}`;

/** The catalogues that a page needs. @param {string[]} begin @returns {string[]} */
function needed(begin) {
  const seen = new Set();
  const open = [...begin];
  for (let name = open.pop(); name; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const [, from] of read(name).matchAll(/^(?:import |\} from )[^;]*?"(\.[^"]+)";/gms)) open.push(join(dirname(name), from));
  }
  return [...seen].filter(isCatalogue);
}

/** Where two texts differ in their shape. @param {any} english @param {any} other @param {string} path @returns {string[]} */
function differences(english, other, path) {
  if (other === undefined) return [`${path} is missing`];
  if (typeof english !== typeof other || Array.isArray(english) !== Array.isArray(other)) return [`${path} is of another kind`];
  if (typeof english === "function") return differentUse(english, other, path);
  if (typeof english === "string") return !english === !other ? [] : [`${path} is empty`];
  if (typeof english !== "object") return english === other ? [] : [`${path} is not a text`];
  if (Array.isArray(english)) {
    if (english.length !== other.length) return [`${path} has ${other.length} entries in place of ${english.length}`];
    const isChoice = english.length === 2 && english.every((it) => typeof it === "string") && /[a-zA-Z]\.\d+$/.test(path);
    const differ = isChoice && english[0] !== other[0] ? [`${path} is another choice`] : [];
    return [...differ, ...english.flatMap((it, at) => differences(it, other[at], `${path}.${at}`))];
  }
  const extra = Object.keys(other).filter((key) => !(key in english)).map((key) => `${path}.${key} is not in English`);
  const same = ["icon", "tone"].filter((key) => key in english && english[key] !== other[key]).map((key) => `${path}.${key} is not a text`);
  return [...extra, ...same, ...Object.keys(english).flatMap((key) => differences(english[key], other[key], `${path}.${key}`))];
}

/** Whether a text says all that the English one says. @param {Function} english @param {Function} other @param {string} path */
function differentUse(english, other, path) {
  if (english.length !== other.length) return [`${path} takes ${other.length} values in place of ${english.length}`];
  const values = Array.from({ length: english.length }, (_, at) => `value${at}`);
  let said;
  try {
    said = String(english(...values));
  } catch {
    // It takes something else than words and numbers.
    return [];
  }
  const spoken = String(other(...values));
  return values.filter((value) => said.includes(value) && !spoken.includes(value)).map((value) => `${path} leaves out ${value}`);
}

test("every catalogue can be spoken in another language", () => {
  const names = new Set();
  for (const name of catalogues) {
    const all = [...read(name).matchAll(/^export /gm)].length;
    const found = exported(name);
    assert.ok(found.length > 0 && found.length === all, `${name}: write \`export const words = translated("NAME", {...});\``);
    for (const [own, key] of found) {
      const stem = name.split("/").at(-1)?.replace(".js", "");
      assert.equal(key, found.length === 1 ? stem : `${stem}.${own}`, name);
      assert.ok(!names.has(key), `${key} is there twice`);
      names.add(key);
    }
  }
  assert.ok(names.size > 30 && languages.includes("de"));
});

test("every language says what English says, with the same values, and nothing more", async () => {
  const faults = [];
  for (const language of languages) {
    for (const name of catalogues) {
      const here = inLanguage(language, name);
      if (!modules.includes(here)) {
        faults.push(`${here} is missing: translate ${name}, and add it to the page-*.js of the pages that use it`);
        continue;
      }
      const [english, other] = [await import(join(js, name)), await import(join(js, here))];
      for (const [own] of exported(name)) faults.push(...differences(english[own], other[own], `${here}: ${own}`));
    }
  }
  assert.deepEqual(faults, [], `translate these in web/assets/js/texts/LANGUAGE (docs/pages.md, Languages), or take them out:\n${faults.join("\n")}`);
});

test("the comparison finds what is missing, of another kind, or says less", () => {
  const english = { a: "A", b: (/** @type {string} */ one) => `B ${one}`, c: [["x", "X"]], d: { icon: "i", label: "L" } };
  const faults = differences(english, { b: () => "B", c: [["y", "X"]], d: { icon: "j", label: "L", more: "M" } }, "t");
  assert.deepEqual(faults.sort(), ["t.a is missing", "t.b takes 0 values in place of 1", "t.c.0 is another choice", "t.d.icon is not a text", "t.d.more is not in English"]);
  assert.deepEqual(differences(english.b, (/** @type {string} */ one) => `B${one.length}`, "b"), ["b leaves out value0"]);
});

test("the installed page speaks every language", () => {
  const source = readFileSync(join(web, "assets/service-worker.js"), "utf8");
  const scope = {
    location: new URL("https://host.example/dashboard/static/service-worker.js?tree=abc"),
    registration: { scope: "https://host.example/" },
    addEventListener: () => {},
    URL,
  };
  vm.runInNewContext(`${source}\nglobalThis.spoken = spoken;`, scope);
  const { spoken } = /** @type {any} */ (scope);
  assert.deepEqual(Object.keys(spoken).sort(), ["en", ...languages].sort());
  for (const language of languages) assert.deepEqual(differences(spoken.en, spoken[language], language), []);
});

test("the file of a page has the words of all catalogues that the page uses", async () => {
  for (const [page, begin] of Object.entries(entries)) {
    const catalogues = needed(begin);
    assert.ok(catalogues.includes("texts.js"), page);
    for (const language of languages) {
      const { words } = await import(join(js, `texts/${language}/page-${page}.js`));
      const wanted = {};
      for (const name of catalogues) {
        const other = await import(join(js, inLanguage(language, name)));
        for (const [own, key] of exported(name)) wanted[key] = other[own];
      }
      assert.deepEqual(Object.keys(words).sort(), Object.keys(wanted).sort(), `texts/${language}/page-${page}.js`);
      for (const [key, value] of Object.entries(wanted)) assert.equal(words[key], value, `${page}: ${key}`);
    }
  }
});

test("no text is left that no page shows", async () => {
  const sources = others.map(read).join("\n").replaceAll(/^\s*(\/\/|\*).*$/gm, "");
  /** Whether something is taken from a catalogue by this name. @param {string} name */
  const isTaken = (name) => new RegExp(`\\.${name}\\b|"${name}"|\\{[^{}]*\\b${name}\\b[^{}]*\\} = \\w`).test(sources);
  /** @param {any} table @param {string} path @returns {string[]} */
  const unused = (table, path) =>
    Object.entries(table).flatMap(([key, text]) => {
      const name = `${path}.${key}`;
      if (!isTaken(key)) return [name];
      // A table that is passed on, or looked into by a word of the server, is used as a whole.
      const isWhole = new RegExp(`\\.${key}(?!\\w|\\.\\w)|\\{[^{}]*\\b${key}\\b[^{}]*\\} = \\w`).test(sources);
      const isTable = typeof text === "object" && !Array.isArray(text) && !isWhole;
      return isTable ? unused(text, name) : [];
    });
  const faults = [];
  for (const name of catalogues) {
    const english = await import(join(js, name));
    for (const [own] of exported(name)) faults.push(...unused(english[own], `${name}: ${own}`));
  }
  assert.deepEqual(faults, [], `no module takes these:\n${faults.join("\n")}`);
});

/** Words of an English sentence. */
const english = /(^| )(the|of|or|and|to|is|are|was|not|your|you|this|that|with|from|for|no|could)( |$|[.,:;?!])/;

/** What looks like a text for readers in a line of a module. @param {string} line @returns {string[]} */
function readable(line) {
  if (/^\s*(\/\/|\*|\/\*)/.test(line) || /Error\(|console\.|^import |@type|@param/.test(line)) return [];
  const literals = [...line.matchAll(/"([^"\\]*)"|`([^`]*)`/g)].map((it) => it[1] ?? it[2]);
  const named = [...line.matchAll(/\b(?:aria-label|aria-description|title|placeholder|alt|textContent|label|text)"?\s*[:=,]\s*["`]([^"`]+)["`]/g)].map((it) => it[1]);
  return [...literals.filter((it) => /^[A-Z][a-z]+ [a-z]+|[“”„]/.test(it) || english.test(it)), ...named.filter((it) => /^[A-Z][a-z]/.test(it))];
}

/** What no reader reads, although it looks so. */
const unread = [
  // What the server wrote into old conversations.
  "Stopped before it was answered.",
  // A media query.
  "not all",
];

test("no module has texts of its own", () => {
  const found = [];
  for (const name of others.filter((name) => !name.startsWith("wire/"))) {
    for (const line of read(name).split("\n")) {
      for (const text of readable(line)) if (!unread.includes(text)) found.push(`${name}: ${text}`);
    }
  }
  assert.deepEqual(found, [], `these belong into texts/:\n${found.join("\n")}`);
  assert.deepEqual(readable('  make("button", { "aria-label": "Close" }, words.close);'), ["Close"]);
  assert.deepEqual(readable('  box.textContent = "It could not be loaded";').length, 2);
  assert.deepEqual(readable("  ask(`“${title}”`);"), ["“${title}”"], "each language has quotation marks of its own");
});

test("the pages themselves say nothing, so that nothing is English first", () => {
  for (const page of Object.keys(entries)) {
    const html = readFileSync(join(web, `pages/${page}.html`), "utf8");
    assert.ok(html.includes(`data-texts="${page}"`), page);
    assert.ok(html.indexOf("js/early/language.js") < html.indexOf("{{script"), page);
    const seen = html.replaceAll(/<!--.*?-->|<title>.*?<\/title>|<noscript>.*?<\/noscript>|<[^>]+>|\{\{.*?\}\}/gs, "").trim();
    assert.equal(seen, "", page);
  }
});

test("the languages of the choice are those that there are", async () => {
  const choice = read("shared/language-choice.js").match(/languages = \{(.*)\}/)?.[1] ?? "";
  const offered = [...choice.matchAll(/(\w+): "/g)].map((it) => it[1]);
  const early = read("early/language.js").match(/languages = (\[.*\])/)?.[1] ?? "";
  assert.deepEqual(offered.toSorted(), ["en", ...languages].toSorted());
  assert.deepEqual(JSON.parse(early), offered);
});
