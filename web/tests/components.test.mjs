// The pure parts of the dashboard: addresses, what typed letters mean, order and sight of tables, differences, axes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { leaving, mainOf } from "../assets/js/components/columns.js";
import { lineDiff, shortened } from "../assets/js/components/line-diff.js";
import { labelled, points, ticks } from "../assets/js/components/scale.js";
import { sorted, windowOf } from "../assets/js/components/table-math.js";
import {
  asToml,
  configEntries,
  fieldText,
  parsedValue,
  sectionsOf,
  terminalCommand,
} from "../assets/js/dashboard/panels/config/model.js";
import { ranked } from "../assets/js/dashboard/matching.js";
import { share, troubles } from "../assets/js/dashboard/panels/overview/problems.js";
import { hrefOf, parseRoute } from "../assets/js/dashboard/route.js";

test("an address names a panel, what is in it and how it is filtered, there and back", () => {
  const { panel, parts, query } = parseRoute("#/sessions/webchat%3Aa%20b?q=tea%20%26%20milk");
  assert.deepEqual([panel, parts, query.get("q")], ["sessions", ["webchat:a b"], "tea & milk"]);
  assert.equal(hrefOf("sessions", ["webchat:a/b"], { q: "x y", none: "" }), "#/sessions/webchat%3Aa%2Fb?q=x+y");
  for (const odd of ["", "#", "#/", "/"]) assert.equal(parseRoute(odd).panel, "");
  assert.deepEqual(parseRoute("#/a/%E0%A4%A").parts, ["%E0%A4%A"], "what cannot be decoded stays as it is");
});

test("the likeliest entries come first, and every word has to be there", () => {
  const entries = ["Live Monitor", "Memory", "Sessions", "Add a memory", "Follow the colours of the system"];
  const found = (typed) => ranked(entries, typed, (entry) => entry);
  assert.deepEqual(found("mem"), ["Memory", "Add a memory"]);
  assert.deepEqual(found("add mem"), ["Add a memory"]);
  assert.deepEqual(found("ssns"), ["Sessions"]);
  assert.deepEqual(found("(.*"), []);
  assert.equal(found("  ").length, entries.length);
});

test("rows without a value sort last in both directions", () => {
  const rows = [{ n: 2 }, { n: null }, { n: 10 }, { n: 1 }];
  assert.deepEqual(
    sorted(rows, (row) => row.n, false).map((row) => row.n),
    [1, 2, 10, null],
  );
  assert.deepEqual(
    sorted(rows, (row) => row.n, true).map((row) => row.n),
    [10, 2, 1, null],
  );
  assert.deepEqual(
    sorted(["b10", "a", "B9"], (row) => row, false),
    ["a", "B9", "b10"],
  );
});

test("a narrow table gives up columns by rank, the main one and the actions stay", () => {
  const columns = [
    { width: "w-s", isWide: true, rank: 2 },
    {},
    { width: "w-m" },
    { width: "w-s", isWide: true },
    { width: "w-xs", isSpoken: true },
  ];
  assert.equal(mainOf(columns), 1);
  assert.deepEqual(leaving(columns), [440, 0, 600, 760, 0]);
  assert.equal(mainOf([{ width: "w-m" }, { isWide: true }]), 0, "where none is left over, the first is the main one");
  assert.deepEqual(leaving([{ width: "w-m" }, { isWide: true }]), [0, 440]);
});

test("of ten thousand rows those in sight are drawn, at both ends too", () => {
  const check = (top, expected) => assert.deepEqual(windowOf(10000, top, 400, 40, 5), expected);
  check(0, { from: 0, to: 15 });
  check(4000, { from: 95, to: 115 });
  check(10000 * 40 - 400, { from: 9985, to: 10000 });
  assert.deepEqual(windowOf(3, 0, 400, 40, 5), { from: 0, to: 3 });
  assert.deepEqual(windowOf(20, 99999, 400, 40, 5), { from: 5, to: 20 }, "the list became shorter");
});

test("a difference has each line once, and leaves out what is far from a change", () => {
  const lines = lineDiff("a\nb\nc\nd", "a\nx\nc\nd\ne");
  assert.deepEqual(
    lines.map(({ kind, text }) => `${kind} ${text}`),
    ["same a", "del b", "add x", "same c", "same d", "add e"],
  );
  const long = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  const shown = shortened(lineDiff(long.join("\n"), [...long.slice(0, 20), "new", ...long.slice(20)].join("\n")));
  assert.deepEqual(
    [shown[0], shown.at(-1), shown.length],
    [{ kind: "skip", count: 17 }, { kind: "skip", count: 17 }, 9],
  );
  assert.deepEqual(shortened(lineDiff("same", "same")), [{ kind: "skip", count: 1 }]);
  const huge = Array.from({ length: 3000 }, (_, index) => `${index}`);
  assert.equal(lineDiff(huge.join("\n"), huge.toReversed().join("\n")).length > 3000, true, "a huge one ends too");
});

test("axes have round values, and not too many labels", () => {
  assert.deepEqual(ticks(9), [0, 2.5, 5, 7.5, 10]);
  assert.deepEqual(ticks(0.0042), [0, 0.002, 0.004, 0.006]);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.deepEqual(labelled(30, 8).length <= 8 && labelled(30, 8).at(-1), 29);
  assert.deepEqual(points([0, 5, 10], 100, 20), [
    [0, 20],
    [50, 10],
    [100, 0],
  ]);
  assert.deepEqual(points([0, 0], 100, 20), [
    [0, 20],
    [100, 20],
  ]);
});

test("every key of the configuration is listed with its default", () => {
  const schema = {
    $defs: {
      Model: {
        properties: {
          key: { default: "", type: "string", writeOnly: true },
          retries: { default: 4, type: "integer", minimum: 0, maximum: 9, description: "How often." },
          effort: { default: null, type: ["string", "null"], enum: ["low", "high"] },
        },
      },
    },
    properties: { model: { $ref: "#/$defs/Model", description: "Which." } },
  };
  const entries = configEntries({ model: { key: "***", retries: 4, effort: "low" }, odd: 1 }, schema);
  const listed = entries.map(({ key, isChanged, isSecret, kind }) => [key, isChanged, isSecret, kind]);
  assert.deepEqual(listed, [
    ["model.effort", true, false, "string"],
    ["model.key", true, true, "string"],
    ["model.retries", false, false, "integer"],
    ["odd", false, false, "number"],
  ]);
  assert.deepEqual(
    sectionsOf(entries).map(({ name }) => name),
    ["", "model"],
  );
  assert.equal(asToml({ a: [1, "x"], "b c": { d: true } }), '{ a = [1, "x"], "b c" = { d = true } }');
});

test("a value is changed in a terminal by a command that a shell takes as it is", () => {
  const check = (key, value, expected) => assert.equal(terminalCommand({ key }, value), expected);
  check("approval.enabled", false, "aethon-cli config set approval.enabled false");
  check("model.host", "https://a.example/v1", "aethon-cli config set model.host https://a.example/v1");
  check("a.b", "it's; rm -rf ~", "aethon-cli config set a.b 'it'\\''s; rm -rf ~'");
  check("a.list", ["x", "$y"], `aethon-cli config set a.list '["x", "$y"]'`);
  check('budget.pricing."gpt 5".input', 1, `aethon-cli config set 'budget.pricing."gpt 5".input' 1`);
  check("a.b", null, "aethon-cli config unset a.b");
});

test("a field of the configuration says what it means, there and back", () => {
  const entry = (kind, value, more = {}) => ({ kind, value, fallback: value, isTextList: false, ...more });
  const check = (of, text, expected) => assert.deepEqual(parsedValue(of, text), expected);
  check(entry("integer", 1), " 42 ", 42);
  check(entry("integer", 1), "", null);
  check(entry("integer", 1), "many", "many");
  check(entry("boolean", true), "false", false);
  check(entry("string", ""), " kept ", " kept ");
  check(entry("string", null), "", null);
  check(entry("array", [], { isTextList: true }), "a\n\n b ", ["a", "b"]);
  check(entry("object", {}), '{"x": 1}', { x: 1 });
  check(entry("object", {}), "{", "{");
  assert.equal(fieldText(entry("array", ["a", "b"], { isTextList: true })), "a\nb");
  const origins = [{ key: "a", source: "environment", place: "AETHON_A", secret: false, needs_restart: true }];
  assert.deepEqual(
    configEntries({ a: 1 }, { properties: { a: { default: 1, type: "integer" } } }, origins)[0].isChanged,
    true,
    "set, if to the default",
  );
});

test("problems come with a remedy, the worst first, and nothing wrong is an empty list", () => {
  const now = Date.parse("2026-11-22T12:00:00Z");
  const jobs = {
    jobs: [
      { job_id: "a", last_status: "error", last_error: "why" },
      { job_id: "b", last_status: "ok" },
      { job_id: "c", last_status: "missed" },
    ],
  };
  const features = {
    features: [
      { id: "mail", title: "Mail", state: "degraded", detail: "no answer", config_key: "channels.email" },
      { id: "x", state: "off" },
    ],
  };
  const found = troubles({ status: { model_ready: true }, jobs, features, usage: { budget: { state: "warn" } } }, now);
  assert.deepEqual(
    found.map(({ tone, title }) => [tone, title]),
    [
      ["bad", "Mail fails"],
      ["bad", "The job “a” failed"],
      ["warn", "The job “c” was missed"],
      ["warn", "Today’s budget is almost used up"],
    ],
  );
  assert.deepEqual(
    troubles({ status: { model_ready: true }, jobs: { jobs: [] }, features: { features: [] } }, now),
    [],
  );
  assert.deepEqual(
    troubles({ approvals: { approvals: [{}, {}] } }, now).map(({ title, href }) => [title, href]),
    [["2 questions wait for you", "#/approvals"]],
  );
  assert.deepEqual(troubles({ approvals: { approvals: [] } }, now), []);
  assert.deepEqual(
    troubles({ errors: { records: [{ ts: "2026-11-22T09:00:00Z" }] } }, now),
    [],
    "what is old is no problem of now",
  );
  assert.deepEqual([share(0, 9), share(1, 3), share(1, 9999), share(3, 0)], ["0 %", "33 %", "< 0.1 %", "0 %"]);
});
