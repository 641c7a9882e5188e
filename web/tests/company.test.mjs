// Live Company: what the events say about who does what where, and the ways through the room.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fixed, placeOfTool, seatAt, spotOf, way } from "../assets/js/dashboard/panels/company/floor.js";
import { Office, mainId } from "../assets/js/dashboard/panels/company/office.js";

const session = "telegram:42";
const call = (name, id = "c1") => ({
  session_id: session,
  message: { role: "assistant", content: [{ type: "tool_call", id, name, input: {} }] },
});
const result = (name, more = {}) => ({
  session_id: session,
  message: { role: "tool", content: [{ type: "tool_result", call: "c1", name, output: "", ...more }] },
});
const said = (role, text = "hello") => ({ session_id: session, message: { role, content: [{ type: "text", text }] } });
const started = { session_id: session, change: "turn_started", turn: "t1" };
const ended = (end = "end") => ({ session_id: session, change: "turn_ended", turn: "t1", end });

/** Plays events and answers what is seen of an agent once the last moment is over. */
function after(events, id = mainId, now = 4000) {
  const office = new Office();
  for (const [topic, data] of events) office.onEvent(topic, data, 1000);
  const { state, place, tool } = office.seen(now).find((agent) => agent.id === id);
  return [state, place, tool];
}

test("each tool has its place", () => {
  const check = (tools, place) => tools.split(" ").forEach((tool) => assert.equal(placeOfTool(tool), place, tool));
  check("manage_memory search_history", "shelf");
  check("shell code__exec", "terminal");
  check("file_read file_write file_edit pdf", "cabinet");
  check("web_fetch web_search", "window");
  check("send_message", "door");
  check("schedule_task current_time", "clock");
  check("ask_researcher", "colleague");
  check("calculator think", "desk");
});

test("a turn is thought about at the desk, worked on at the place of its tool, and over in the end", () => {
  const turn = [
    ["messages", said("user")],
    ["sessions", started],
  ];
  assert.deepEqual(after([]), ["idle", "desk", ""]);
  assert.deepEqual(after(turn), ["thinking", "desk", ""]);
  assert.deepEqual(after([...turn, ["messages", call("shell")]]), ["tool", "terminal", "shell"]);
  assert.deepEqual(after([...turn, ["messages", call("shell")], ["messages", result("shell")]]), [
    "thinking",
    "desk",
    "",
  ]);
  assert.deepEqual(after([...turn, ["messages", said("assistant")], ["sessions", ended()]]), ["idle", "desk", ""]);
});

test("a call that takes no time is still seen for a moment, in words and in the drawing alike", () => {
  const office = new Office();
  const at = (now) => {
    const [{ state, place, tool }] = office.seen(now);
    return [state, place, tool];
  };
  office.onEvent("sessions", started, 1000);
  office.onEvent("messages", call("file_list"), 1010);
  office.onEvent("messages", result("file_list"), 1020);
  assert.deepEqual(at(1030), ["tool", "cabinet", "file_list"]);
  assert.equal(office.nextChange(1030), 2480);
  office.onEvent("messages", call("manage_memory"), 1040);
  assert.deepEqual(at(1050), ["tool", "shelf", "manage_memory"], "what goes on now comes first");
  office.onEvent("messages", result("manage_memory", { is_error: true }), 1060);
  assert.deepEqual(at(1070), ["failed", "shelf", "manage_memory"]);
  assert.deepEqual(at(9000), ["thinking", "desk", ""]);
});

test("conversations of agents with each other need no door and no letter", () => {
  const office = new Office();
  for (const inner of ["agent:r", "work:w", "schedule:s"]) {
    office.onEvent("messages", { ...said("user"), session_id: inner }, 1);
    office.onEvent("messages", { ...said("assistant"), session_id: inner }, 2);
  }
  assert.deepEqual([office.channels.size, office.letters, office.take()], [0, 0, []]);
});

test("who waits for the owner sits before the desk until it is decided, whatever else goes on", () => {
  const asked = [
    ["sessions", started],
    ["messages", call("shell")],
    ["approvals", { state: "open", id: "a", tool: "shell", session_id: session }],
  ];
  const other = ["sessions", { ...started, session_id: "webchat:b" }];
  assert.deepEqual(after(asked), ["waiting", "chair", "shell"]);
  assert.deepEqual(after([...asked, other]), ["waiting", "chair", "shell"]);
  assert.deepEqual(after([...asked, ["approvals", { state: "done", id: "a", decision: "approve" }]]), [
    "tool",
    "terminal",
    "shell",
  ]);
});

test("a failure shows for a while, and the next turn ends it", () => {
  const failed = [
    ["sessions", started],
    ["sessions", ended("error")],
  ];
  assert.equal(after(failed)[0], "failed");
  assert.equal(after(failed, mainId, 100000)[0], "idle");
  assert.equal(after([...failed, ["sessions", started]])[0], "thinking");
  const office = new Office();
  for (const [topic, data] of failed) office.onEvent(topic, data, 1000);
  assert.equal(office.nextChange(11000), 20000);
  assert.equal(office.nextChange(99000), Infinity);
});

test("a specialist works under its own name, and its turn is not the main agent's", () => {
  const one = {
    agent_id: "t2",
    name: "researcher",
    role: "looks things up",
    session_id: "agent:r",
    state: "thinking",
    tool: null,
  };
  const events = [
    ["sessions", { session_id: "agent:r", change: "turn_started", turn: "t2" }],
    ["agents", one],
  ];
  assert.equal(after(events)[0], "idle");
  assert.deepEqual(after(events, "researcher"), ["thinking", "desk", ""]);
  assert.deepEqual(after([...events, ["agents", { ...one, state: "tool", tool: "web_fetch" }]], "researcher"), [
    "tool",
    "window",
    "web_fetch",
  ]);
  assert.equal(after([...events, ["agents", { ...one, state: "idle" }]], "researcher")[0], "idle");
  assert.equal(after([...events, ["agents", { ...one, state: "failed" }]], "researcher")[0], "failed");
  const office = new Office();
  for (const [topic, data] of events) office.onEvent(topic, data, 1);
  office.take();
  office.onEvent(
    "messages",
    { session_id: "agent:r", message: { role: "user", content: [{ type: "text", text: "find it" }] } },
    2,
  );
  assert.deepEqual(office.take(), [], "no letter comes by a door for it");
});

test("messages come by the channel's door and leave by it", () => {
  const office = new Office();
  office.onEvent("messages", said("user"), 1);
  assert.equal(office.letters, 1);
  office.onEvent("sessions", started, 1);
  assert.equal(office.letters, 0, "what is being answered waits no longer");
  office.onEvent("messages", said("assistant"), 2);
  assert.equal(office.letters, 0);
  assert.deepEqual(
    office.take().map(({ kind, channel }) => [kind, channel]),
    [
      ["arrives", "telegram"],
      ["leaves", "telegram"],
    ],
  );
  const [main] = office.seen(3);
  assert.deepEqual([main.place, main.tool, main.isAnswer], ["door", "telegram", true]);
  assert.ok(office.channels.has("telegram"));
  office.onEvent("scheduler", { job_id: "tidy", change: "run_started" }, 3);
  assert.deepEqual([office.job, office.take()[0].kind], ["tidy", "rings"]);
});

test("the office opens as the API says things stand, without a move", () => {
  const office = new Office();
  const active = [{ agent_id: "t", name: "main", session_id: session, state: "tool", tool: "shell" }];
  office.prime(
    {
      channels: ["webchat", { name: "telegram", state: "running" }],
      agents: active,
      specialists: [{ name: "main" }, { name: "coder", role: "writes code" }],
      approvals: [{ id: "q", tool: "shell", session_id: session }],
    },
    1000,
  );
  assert.deepEqual([...office.agents.keys()], ["main", "coder"]);
  assert.deepEqual(
    office.seen(1000).map(({ state }) => state),
    ["waiting", "idle"],
  );
  assert.deepEqual(office.take(), []);
});

test("untaken events are bounded, and malformed events are ignored", () => {
  const office = new Office();
  for (let index = 0; index < 500; index += 1) office.onEvent("messages", said("user"), index);
  assert.ok(office.take().length <= 40);
  for (const odd of [null, 3, {}, { message: null }, { session_id: 4, message: { content: "x" } }, { name: "" }]) {
    for (const topic of ["messages", "sessions", "agents", "approvals", "scheduler", "telemetry", "new"])
      office.onEvent(topic, odd, 1);
  }
  assert.ok(office.seen(1).length >= 1);
});

test("no path crosses the furniture", () => {
  const things = Object.values(fixed);
  const isInside = ({ x, y }) =>
    things.some((thing) => x > thing.x && x < thing.x + thing.w && y > thing.y && y < thing.y + thing.d);
  const at = { desk: -1, door: 0, colleague: 0, order: 0 };
  for (const place of ["shelf", "terminal", "cabinet", "window", "clock", "chair", "door"]) {
    const goal = spotOf(place, at);
    let from = seatAt(-1);
    const corners = way(from, goal, 6);
    assert.deepEqual(corners.at(-1), goal, place);
    for (const corner of corners) {
      for (let step = 0.1; step < 1; step += 0.1) {
        assert.ok(
          !isInside({ x: from.x + (corner.x - from.x) * step, y: from.y + (corner.y - from.y) * step }),
          `${place} from ${JSON.stringify(from)}`,
        );
      }
      from = corner;
    }
  }
});

test("only channels have doors: agents, jobs and work come through none", () => {
  const office = new Office();
  for (const name of ["agent:1", "schedule:tea:1", "work:notices", "telegram:42"])
    office.onEvent("messages", { session_id: name, message: { role: "user", content: [{ type: "text", text: "x" }] } }, 1000);
  assert.deepEqual([...office.channels.keys()], ["telegram"]);
});
