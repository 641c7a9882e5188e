// What the panels hold and count: entries of the monitor, log lines, a recording's timeline, sums of the usage.

import assert from "node:assert/strict";
import { test } from "node:test";
import { actionName, outcomeOf } from "../assets/js/dashboard/panels/approvals/outcome.js";
import { LogLines } from "../assets/js/dashboard/panels/logs/lines.js";
import { byWork } from "../assets/js/dashboard/panels/agents/by-work.js";
import { Entries } from "../assets/js/dashboard/panels/monitor/entries.js";
import { changed, monthOf, spansOf } from "../assets/js/dashboard/usage-sums.js";
import { turnsOf } from "../assets/js/dashboard/panels/monitor/turns.js";
import {
  briefly,
  nearest,
  placeOf,
  snapshotAt,
  spread,
  toolNames,
} from "../assets/js/dashboard/panels/recordings/timeline.js";
import { titleFor } from "../assets/js/dashboard/panels/recordings/titles.js";
import { everyDay, grouped, partsOf } from "../assets/js/dashboard/panels/usage/groups.js";

test("what went well in the audit log is not red, and is named in words", () => {
  const said = (/** @type {[string, string]} */ row) => {
    const { label, tone } = outcomeOf(...row);
    return `${actionName(row[0])}: ${label}, ${tone || "neutral"}`;
  };
  const rows = /** @type {[string, string][]} */ ([
    ["config", "changed"],
    ["config", "confirmed"],
    ["config", "terminal_only"],
    ["deletion", "done"],
    ["approval", "deny"],
    ["sign_in", "in"],
    ["access", "wrong"],
    ["command", "ended with 0 after 2 s"],
    ["later", "told"],
  ]);
  assert.deepEqual(rows.map(said), [
    "Settings: Changed, good",
    "Settings: Confirmed, good",
    "Settings: Refused, bad",
    "Deletion: Deleted, good",
    "Approval: Denied, bad",
    "Sign-in: Signed in, good",
    "Access: Wrong token, bad",
    "Command in the background: ended with 0 after 2 s, neutral",
    "later: told, neutral",
  ]);
});

const session = "webchat:a";
const at = (second) => `2026-11-22T10:00:${String(second).padStart(2, "0")}.000Z`;
const message = (id, role, ...content) => ({ id: String(id), role, content, created_at: at(id), turn: "t1" });
const text = (words) => ({ type: "text", text: words });
const all = { channel: "", session: "", kind: "", text: "" };
const titles = (entries, wanted = {}) =>
  entries
    .matching({ ...all, ...wanted })
    .map(({ kind, title, state }) => [kind, title, state].filter(Boolean).join(" "));

/** A turn that runs a tool. */
function turn(entries, where = session) {
  entries.message(where, message(1, "user", text("list them")));
  entries.message(
    where,
    message(2, "assistant", { type: "tool_call", id: "c1", name: "shell", input: { command: "ls" } }),
  );
  entries.message(
    where,
    message(3, "tool", {
      type: "tool_result",
      call: "c1",
      name: "shell",
      output: "notes",
      ms: 4,
      is_error: false,
      denied: false,
    }),
  );
  entries.message(where, message(4, "assistant", text("there is one")));
}

test("the monitor holds each message once, a call with its result, newest first", () => {
  const entries = new Entries();
  turn(entries);
  const expected = ["reply there is one", "tool shell ok", "message list them"];
  assert.deepEqual(titles(entries), expected);
  turn(entries);
  assert.deepEqual(titles(entries), expected, "the history that is loaded again adds nothing");
  const [, call] = entries.all();
  assert.deepEqual([call.ms, call.input, call.output], [4, { command: "ls" }, "notes"]);
});

test("the monitor is narrowed by channel, conversation, kind and words", () => {
  const entries = new Entries();
  turn(entries);
  turn(entries, "telegram:7");
  assert.deepEqual(entries.channels(), ["telegram", "webchat"]);
  assert.equal(titles(entries, { channel: "telegram" }).length, 3);
  assert.equal(titles(entries, { session }).length, 3);
  assert.deepEqual(titles(entries, { kind: "tool", session }), ["tool shell ok"]);
  assert.deepEqual(titles(entries, { text: "NOTES shell", session }), ["tool shell ok"]);
  assert.deepEqual(titles(entries, { text: "nothing like it" }), []);
  entries.gap(3, at(9));
  assert.equal(entries.matching({ ...all, text: "nothing like it" })[0].missed, 3, "a gap shows whatever is asked for");
  entries.forget(session);
  assert.equal(titles(entries, { session }).length, 1);
});

test("questions, jobs and measurements have entries that change", () => {
  const entries = new Entries();
  entries.approval({ state: "open", id: "q", tool: "shell", session_id: session, created_at: at(1) }, at(1));
  assert.deepEqual(titles(entries), ["approval shell waiting"]);
  entries.approval({ state: "done", id: "q", decision: "deny" }, at(2));
  assert.deepEqual(titles(entries), ["approval shell denied"]);
  const run = { run_id: "r", started_at: at(3), status: "running" };
  entries.job({ job_id: "tidy", change: "run_started", run }, at(3));
  entries.job({ job_id: "tidy", change: "run_ended", run: { ...run, status: "ok" } }, at(4));
  entries.measured({ type: "delivery", name: "telegram", status: "ok", timestamp: at(5) });
  entries.measured({ type: "tool_call", name: "shell", status: "ok", timestamp: at(5) });
  assert.deepEqual(titles(entries), ["delivery telegram sent", "job tidy ok", "approval shell denied"]);
});

test("a late entry is sorted into its place", () => {
  const entries = new Entries();
  const say = (second, words) =>
    entries.message(session, { id: String(second), role: "user", content: [text(words)], created_at: at(second) });
  const order = () =>
    entries
      .all()
      .map(({ title }) => title)
      .join(" ");
  say(5, "five");
  assert.equal(order(), "five");
  say(7, "seven");
  say(6, "six");
  say(9, "nine");
  assert.equal(order(), "nine seven six five");
  say(7, "seven again");
  assert.equal(order(), "nine seven again six five");
});

test("the monitor is bounded, and strange events do no harm", () => {
  const entries = new Entries();
  for (let index = 0; index < 10200; index += 1)
    entries.message(session, {
      id: String(index),
      role: "user",
      content: [text("x")],
      created_at: new Date(index * 1000).toISOString(),
    });
  assert.equal(entries.all().length, 10000);
  for (const odd of [undefined, {}, { content: "x" }, { content: [{}] }]) entries.message(session, odd);
  entries.measured(null);
  entries.job({}, at(1));
  assert.equal(entries.all().length, 10000);
});

test("log lines are found by level, part and words, also in their fields", () => {
  const lines = new LogLines();
  const record = (level, target, words, fields = {}) => ({ ts: at(1), level, target, message: words, fields });
  lines.reset([
    record("warn", "aethon_agent::engine", "second"),
    record("info", "aethon_http::server", "first", { port: 80 }),
  ]);
  lines.add(record("info", "aethon_http::server", "first", { port: 80 }));
  const found = (wanted) =>
    lines.matching({ level: "info", target: "", text: "", ...wanted }).map((line) => line.message);
  assert.deepEqual(found({}), ["first", "second", "first"]);
  assert.equal(new Set(lines.lines.map(({ key }) => key)).size, 3, "equal lines are told apart");
  assert.deepEqual(found({ level: "warn" }), ["second"]);
  assert.deepEqual(found({ target: "aethon_agent" }), ["second"]);
  assert.deepEqual(found({ text: "port=80" }), ["first", "first"]);
  assert.deepEqual(lines.targets(), ["aethon_agent::engine", "aethon_http::server"]);
  for (let index = 0; index < 10100; index += 1) lines.add(record("info", "a", `line ${index}`));
  assert.equal(lines.lines.length, 10000);
});

test("a timeline gives a long wait little room and keeps the order", () => {
  const times = [at(0), at(1), "2026-11-23T10:00:00.000Z", "2026-11-23T10:00:01.000Z"];
  const places = spread(times);
  assert.equal(places[0], 0);
  assert.equal(places[3], 1);
  assert.ok(places[1] > 0.08 && places[3] - places[2] > 0.08, String(places));
  assert.deepEqual(spread([]), []);
  assert.deepEqual(spread([at(0)]), [0]);
  assert.equal(nearest(places, 0.99), 3);
  const events = times.map((ts, seq) => ({ ts, seq }));
  assert.equal(placeOf(at(0), events, places), (places[0] + places[1]) / 2);
  assert.equal(placeOf(null, events, places), 1);
});

test("the state at a moment is that of the newest snapshot before it", () => {
  const snapshots = [
    { n: 1, ts: at(5), message_count: 2 },
    { n: 2, ts: at(9), message_count: 4 },
  ];
  const n = (second) => snapshotAt(snapshots, { ts: at(second) })?.n;
  assert.deepEqual([n(4), n(5), n(8), n(30)], [undefined, 1, 1, 2]);
  assert.equal(snapshotAt(snapshots, undefined).n, 2);
});

test("an event is summarised in a line, with tools by their names", () => {
  assert.deepEqual(toolNames(["b", { name: "a" }, { function: { name: "pdf" } }]), ["a", "b", "pdf"]);
  assert.equal(briefly({ name: "shell", input: { command: "ls" } }), 'shell · {"command":"ls"}');
  assert.equal(briefly(null), "");
});

test("usage is summed by day, model and kind, the dearest first", () => {
  const row = (day, model, cost, more = {}) => ({
    day,
    model,
    provider: "p",
    kind: "turn",
    requests: 2,
    failed: 1,
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 4,
    cost_usd: cost,
    ...more,
  });
  const rows = [row("2026-11-20", "a", 1), row("2026-11-22", "b", 2), row("2026-11-22", "a", 2)];
  assert.deepEqual(
    grouped(rows, "model").map(({ name, cost_usd }) => [name, cost_usd]),
    [
      ["a", 3],
      ["b", 2],
    ],
  );
  const days = everyDay(rows, "2026-11-22", 3);
  assert.deepEqual(
    days.map(({ name, requests }) => [name, requests]),
    [
      ["2026-11-20", 2],
      ["2026-11-21", 0],
      ["2026-11-22", 4],
    ],
  );
  assert.deepEqual(partsOf(days[0], "tokens"), [6, 4, 5]);
  assert.deepEqual(partsOf(days[0], "calls"), [1, 1]);
  assert.deepEqual(everyDay(rows, "never", 3), []);
});

test("the monitor calls conversations by their titles, and shows Aethon's own instructions only on request", () => {
  const entries = new Entries();
  entries.name([{ session_id: "webchat:a", title: "Garden" }, { session_id: "webchat:b", title: "" }]);
  assert.deepEqual([entries.nameOf("webchat:a"), entries.nameOf("webchat:b")], ["Garden", "webchat:b"]);
  const text = (id, words) => ({ id, role: "user", created_at: "2026-01-01T00:00:00Z", content: [{ type: "text", text: words }] });
  entries.message("webchat:a", text("1", "Plant peas"));
  entries.message("work:notices:1", text("2", "You work on task 1 of 2"));
  const found = (more) =>
    entries.matching({ channel: "", session: "", kind: "", text: "", ...more }).map(({ title }) => title);
  assert.deepEqual(found({}), ["Plant peas"]);
  assert.deepEqual(found({ kind: "prompt" }), ["You work on task 1 of 2"]);
  assert.deepEqual(found({ kind: "message" }), ["Plant peas"]);
  assert.deepEqual(found({ text: "garden" }), ["Plant peas"], "found by its title");
});

test("agents that work or failed come first, and those that wait for work stand apart", () => {
  const standing = ["main", "coder", "writer", "reviewer"].map((name, at) => ({
    name,
    state: ["idle", "idle", "failed", "tool"][at],
  }));
  const names = byWork(standing, [{ name: "coder" }]).map((agents) => agents.map(({ name }) => name));
  assert.deepEqual(names, [
    ["coder", "writer", "reviewer"],
    ["main"],
  ]);
});

test("the monitor groups entries by turn, with the share of time that each call took", () => {
  const entries = new Entries();
  const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 8, 0, seconds)).toISOString();
  const put = (id, role, seconds, content, turn = "t1") =>
    entries.message("webchat:a", { id, role, created_at: at(seconds), turn, content });
  put("1", "user", 0, [{ type: "text", text: "Look it up" }]);
  put("2", "assistant", 2, [{ type: "tool_call", id: "c", name: "web_fetch", input: {} }]);
  put("3", "tool", 6, [{ type: "tool_result", call: "c", name: "web_fetch", output: "x", ms: 4000 }]);
  put("4", "assistant", 8, [{ type: "text", text: "Here it is" }]);
  put("5", "user", 20, [{ type: "text", text: "And this" }], "t2");
  put("6", "assistant", 21, [{ type: "tool_call", id: "d", name: "shell", input: {} }], "t2");
  entries.measured({ type: "delivery", name: "telegram", timestamp: at(30), status: "ok" });
  const [second, first, ...others] = turnsOf(entries.all());
  assert.deepEqual(others, []);
  assert.deepEqual([first.asked, first.reply, first.state, first.ms], ["Look it up", "Here it is", "ok", 8000]);
  assert.deepEqual(first.spans, [{ name: "web_fetch", state: "ok", ms: 4000, from: 0.25, to: 0.75 }]);
  assert.deepEqual([second.asked, second.state, second.ms], ["And this", "running", null]);
  const [span] = second.spans;
  assert.ok(span.from <= 0.99 && span.to > span.from && span.to <= 1, "a call without a time is still seen");
});

test("a turn is over when a message says so, even if it ended with a notice", () => {
  const state = (stop_reason, code) => {
    const entries = new Entries();
    const about = { created_at: "2026-01-01T08:00:00.000Z", turn: "t" };
    entries.message("webchat:a", { ...about, id: "1", role: "user", content: [{ type: "text", text: "Hello" }] });
    const content = [{ type: "notice", code, text: "Something." }];
    entries.message("webchat:a", { ...about, id: "2", role: "assistant", content, stop_reason });
    return turnsOf(entries.all())[0].state;
  };
  assert.equal(state("error", "auth"), "error");
  assert.equal(state("stopped", "stopped"), "ok");
  assert.equal(state(null, "budget_warning"), "running");
});

test("a span of usage is compared with the one before, and the month is forecast at the pace of the last full days", () => {
  const row = (day, cost_usd) => ({ day, cost_usd, requests: 1 });
  const rows = [row("2026-11-20", 3), row("2026-11-19", 2), row("2026-11-14", 2), row("2026-11-13", 4), row("2026-11-06", 9)];
  const { rows: now, before } = spansOf(rows, "2026-11-20", 7);
  assert.deepEqual(now.map(({ day }) => day), ["2026-11-20", "2026-11-19", "2026-11-14"]);
  assert.deepEqual(before.map(({ day }) => day), ["2026-11-13"], "no more than as many days before");
  assert.deepEqual([changed(7, 4), changed(2, 4), changed(4, 4), changed(4, 0)], [75, -50, 0, null]);
  // 20 so far; the seven days before today took 8, and ten days are left. Today has taken its share already.
  const { spent, forecast } = monthOf(rows, "2026-11-20");
  assert.equal(spent, 20);
  assert.ok(Math.abs(forecast - (20 + (8 / 7) * 10)) < 1e-9, String(forecast));
  assert.deepEqual(monthOf([row("2026-11-20", 3)], "2026-11-20"), { spent: 3, forecast: null });
  assert.deepEqual(monthOf([], "2026-11-20"), { spent: 0, forecast: null });
  // One full day of last month, and 28 days of which the first has not taken its share yet.
  const february = monthOf([row("2026-01-31", 2), row("2026-02-01", 0.5)], "2026-02-01");
  assert.deepEqual([february.spent, february.forecast], [0.5, 0.5 + 1.5 + 2 * 27]);
});

test("the lines of an SOP are painted without changing a letter", async () => {
  const { paintedLines } = await import("../assets/js/dashboard/panels/sops/lines.js");
  const lines = ["# Tea", "", "- You MUST NOT use `water`, **ever**.", "```", "MUST # not", "```", "1. MAYBE MAY"];
  const painted = paintedLines(lines);
  assert.deepEqual(
    painted.map((pieces) => pieces.map(({ text }) => text).join("")),
    lines,
  );
  const kinds = painted.map((pieces) => pieces.map(({ kind }) => kind).join(","));
  assert.deepEqual(kinds, ["heading", "", "sign,,word,,code,,strong,", "fence", "code", "fence", "sign,,word"]);
});

test("the headings of an SOP have their lines, and code has none", async () => {
  const { headingsOf } = await import("../assets/js/dashboard/panels/sops/lines.js");
  assert.deepEqual(headingsOf(["# Tea", "```", "# no", "```", "### 1. Boil ##", "#no"]), [
    { line: 1, level: 1, title: "Tea" },
    { line: 5, level: 3, title: "1. Boil" },
  ]);
});

test("only lines that differ are drawn again", async () => {
  const { sameEnds } = await import("../assets/js/dashboard/panels/sops/lines.js");
  assert.deepEqual(sameEnds(["a", "b", "c"], ["a", "x", "y", "c"]), { head: 1, tail: 1 });
  assert.deepEqual(sameEnds(["a", "a"], ["a", "a", "a"]), { head: 2, tail: 0 });
  assert.deepEqual(sameEnds([], ["a"]), { head: 0, tail: 0 });
});

test("every section of the configuration stands in one group", async () => {
  const { grouped } = await import("../assets/js/dashboard/panels/config/groups.js");
  const sections = ["", "agent", "channels.telegram", "model", "unheard-of"].map((name) => ({ name }));
  const groups = grouped(sections);
  assert.deepEqual(
    groups.flatMap((group) => group.sections.map(({ name }) => name)).sort(),
    sections.map(({ name }) => name).sort(),
  );
  assert.equal(groups.at(-1)?.label, "Everything else");
});

test("the command of an operation is what the page sends", async () => {
  const { curlOf } = await import("../assets/js/docs/operation.js");
  const request = { method: "post", url: "http://a/b", body: `{"a":"it's"}`, isSigned: true, headers: { "If-Match": "x" } };
  assert.equal(
    curlOf(request),
    [
      "curl -X POST 'http://a/b'",
      `-H "Authorization: Bearer $AETHON_TOKEN"`,
      "-H 'If-Match: x'",
      "-H 'Content-Type: application/json'",
      `-d '{"a":"it'\\''s"}'`,
    ].join(" \\\n  "),
  );
  assert.equal(curlOf({ method: "get", url: "http://a", isSigned: false, headers: {} }), "curl 'http://a'");
});

test("a recording is called after its conversation, and one that names none is not called null", () => {
  const sessions = [{ session_id: "webchat:a", title: "Trip" }, { session_id: "webchat:b", title: "" }];
  const context = { store: { get: () => ({ value: { sessions } }) } };
  assert.deepEqual(
    ["webchat:a", "webchat:b", "webchat:gone", null].map((id) => titleFor(context, id)),
    ["Trip", "webchat:b", "webchat:gone", ""],
  );
});
