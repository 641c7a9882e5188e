// The page's promise that nothing is lost or doubled, without a browser: `node --test web/tests`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { filesSince, touchesFiles } from "../assets/js/chat/changed-files.js";
import { Conversation } from "../assets/js/chat/conversation.js";
import { FrameOrder } from "../assets/js/chat/order.js";
import { Outbox } from "../assets/js/chat/outbox.js";
import { ChatSocket } from "../assets/js/chat/socket.js";
import { neighbour } from "../assets/js/chat/versions.js";
import { newTurn, turnSequence, isBlank, oldestFirst, turnsFromStored } from "../assets/js/chat/turn.js";

const user = (id, turn, text) => ({ id, turn, role: "user", content: [{ type: "text", text }] });
const reply = (id, turn, ...html) => ({ id, turn, role: "assistant", content: [{ type: "text", text: html.join(""), html }], stop_reason: "end" });
const texts = (conversation) => conversation.turns().map((turn) => turn.said?.text);
const blocks = (conversation) => conversation.turns().map((turn) => turn.reply.blocks.join("|"));

test("stored messages of one turn are one exchange, with tools between the blocks", () => {
  const [turn, ...rest] = turnsFromStored([
    user("1", "a", "hi"),
    { id: "2", turn: "a", role: "assistant", content: [{ type: "text", text: "x", html: ["<p>x</p>"] }, { type: "tool_call", id: "c", name: "shell", input: {} }] },
    { id: "3", turn: "a", role: "tool", content: [{ type: "tool_result", call: "c", output: "no", is_error: true, denied: true }] },
    reply("4", "a", "<p>y</p>"),
  ]);
  assert.equal(rest.length, 0);
  assert.deepEqual(turn.reply.blocks, ["<p>x</p>", "<p>y</p>"]);
  assert.equal(turn.reply.extras[0].at, 1);
  assert.equal(turn.reply.extras[0].part.state, "denied");
});

test("an acknowledged message becomes a turn once, even when acknowledged twice", () => {
  const conversation = new Conversation();
  conversation.addLocal({ id: "m1", text: "hello", attachments: [], at: "2026-01-01T00:00:00Z" });
  conversation.acknowledge({ id: "m1", turn: "t1", queued: 0 });
  conversation.acknowledge({ id: "m1", turn: "t1", queued: 0 });
  conversation.frame({ type: "blocks", turn: "t1", seq: 1, from: 0, html: ["<p>a</p>"] });
  assert.deepEqual(texts(conversation), ["hello"]);
  assert.deepEqual(blocks(conversation), ["<p>a</p>"]);
});

test("a message whose acknowledgement was lost is not shown beside its stored self", () => {
  const conversation = new Conversation();
  conversation.addLocal({ id: "m1", text: "hello", attachments: [], at: "2026-01-01T00:00:00Z" });
  conversation.apply({ messages: [user("1", "t1", "hello"), reply("2", "t1", "<p>a</p>")] }, turnSequence());
  conversation.acknowledge({ id: "m1", turn: "t1" });
  assert.deepEqual(texts(conversation), ["hello"]);
});

test("after a reconnect a running reply stays shown until it is told again, and is not doubled", () => {
  const conversation = new Conversation();
  conversation.addLocal({ id: "m1", text: "hello", attachments: [], at: "2026-01-01T00:00:00Z" });
  conversation.acknowledge({ id: "m1", turn: "t1" });
  conversation.frame({ type: "blocks", turn: "t1", from: 0, html: ["<p>a</p>", "<p>b</p>"] });
  conversation.apply({ messages: [], pending: [{ turn: "t1", text: "hello", state: "running" }] }, turnSequence());
  assert.deepEqual(blocks(conversation), ["<p>a</p>|<p>b</p>"]);
  conversation.frame({ type: "blocks", turn: "t1", from: 0, html: ["<p>a</p>"] });
  conversation.frame({ type: "blocks", turn: "t1", from: 1, html: ["<p>b</p>", "<p>c</p>"] });
  assert.deepEqual(blocks(conversation), ["<p>a</p>|<p>b</p>|<p>c</p>"]);
  assert.deepEqual(texts(conversation), ["hello"]);
});

test("what was accepted while the transcript was asked for outlives the answer", () => {
  const conversation = new Conversation();
  const asked = turnSequence();
  conversation.addLocal({ id: "m1", text: "late", attachments: [], at: "2026-01-01T00:00:00Z" });
  conversation.acknowledge({ id: "m1", turn: "t9" });
  conversation.apply({ messages: [user("1", "t1", "early"), reply("2", "t1", "<p>a</p>")] }, asked);
  assert.deepEqual(texts(conversation), ["early", "late"]);
});

test("what others said before it stands before a message that waits, although nobody here had heard of it", () => {
  const conversation = new Conversation();
  const say = (id, queued) => {
    conversation.addLocal({ id, text: id, attachments: [], at: "2026-01-01T00:00:00Z" });
    conversation.acknowledge({ id, turn: `t-${id}`, queued });
  };
  say("own", 2);
  conversation.apply({ messages: [], pending: [{ turn: "t-other", text: "other", state: "queued" }, { turn: "t-own", text: "own", state: "queued" }] }, turnSequence());
  assert.deepEqual(texts(conversation), ["other", "own"], "in the order in which they were accepted");
  say("back", 2);
  say("last", 3);
  const stopped = "Stopped before it was answered.";
  conversation.frame({ type: "blocks", turn: "t-back", from: 0, html: [`<p>${stopped}</p>`] });
  conversation.frame({ type: "done", turn: "t-back", text: stopped, html: `<p>${stopped}</p>`, stop_reason: "stopped" });
  assert.deepEqual(texts(conversation), ["other", "own", "back", "last"], "what was taken back keeps its place");
  conversation.frame({ type: "delta", turn: "t-other", text: "1" });
  conversation.frame({ type: "delta", turn: "t-unheard", text: "2" });
  assert.deepEqual(texts(conversation), ["other", undefined, "own", "back", "last"]);
  conversation.frame({ type: "delta", turn: "t-own", text: "3" });
  conversation.frame({ type: "delta", turn: "t-last", text: "4" });
  conversation.frame({ type: "delta", turn: "t-later", text: "5" });
  assert.deepEqual(texts(conversation), ["other", undefined, "own", "back", "last", undefined]);
});

test("an edited message replaces its turn and what followed", () => {
  const conversation = new Conversation();
  const stored = ["a", "b", "c"].flatMap((turn) => [user(`u${turn}`, turn, turn), reply(`r${turn}`, turn, turn)]);
  conversation.apply({ messages: stored }, turnSequence());
  conversation.replaceFrom("m1", "b", "edit", "better");
  assert.deepEqual(texts(conversation), ["a", "better"]);
  conversation.acknowledge({ id: "m1", turn: "d" });
  assert.deepEqual(texts(conversation), ["a", "better"]);
  conversation.apply({ messages: stored.slice(0, 2), pending: [{ turn: "d", text: "better", state: "running" }] }, turnSequence());
  assert.deepEqual(texts(conversation), ["a", "better"]);
});

test("a refused edit brings back what it stood in for", () => {
  const conversation = new Conversation();
  conversation.apply({ messages: [user("1", "a", "first"), reply("2", "a", "x")] }, turnSequence());
  conversation.replaceFrom("m1", "a", "edit", "other");
  conversation.refuse("m1", "busy");
  assert.deepEqual(texts(conversation), ["first"]);
});

test("older pages join without a seam", () => {
  const conversation = new Conversation();
  conversation.apply({ messages: [reply("2", "a", "<p>r</p>"), user("3", "b", "b")] }, turnSequence());
  conversation.prepend([user("1", "a", "a"), reply("2", "a", "<p>r</p>")]);
  assert.deepEqual(texts(conversation), ["a", "b"]);
  conversation.apply({ messages: [user("3", "b", "b"), reply("4", "b", "<p>s</p>")] }, turnSequence());
  assert.deepEqual(texts(conversation), ["a", "b"]);
});

test("what came meanwhile and is more than a page can be scrolled to", () => {
  const conversation = new Conversation();
  const turns = ["a", "b", "c", "d"].map((turn) => [user(`u${turn}`, turn, turn), reply(`r${turn}`, turn, turn)]);
  conversation.apply({ messages: turns[0], has_more: false }, turnSequence());
  for (const turn of ["b", "c", "d"]) conversation.frame({ type: "done", turn, text: turn, html: turn });
  conversation.apply({ messages: turns.slice(2).flat(), has_more: true }, turnSequence());
  assert.deepEqual([texts(conversation), conversation.hasOlder, conversation.oldestMessage()], [["c", "d"], true, "uc"]);
  conversation.prepend(turns.slice(0, 2).flat(), false);
  assert.deepEqual([texts(conversation), conversation.hasOlder], [["a", "b", "c", "d"], false]);
  // What joins what is there has the same beginning as before.
  conversation.apply({ messages: turns.slice(1).flat(), has_more: true }, turnSequence());
  assert.deepEqual([texts(conversation), conversation.hasOlder], [["a", "b", "c", "d"], false]);
});

test("frames that arrive in any order around a replay are delivered in theirs, once", () => {
  /** @type {number[]} */
  const seen = [];
  const order = new FrameOrder((frame) => seen.push(frame.seq));
  for (const seq of [7, 5, 6, 7, 4]) order.take({ seq });
  order.startAfter(4);
  order.release();
  for (const seq of [7, 8, 8, 9]) order.take({ seq });
  assert.deepEqual(seen, [5, 6, 7, 8, 9]);
});

test("unsent messages outlive a reload, in order, until they are acknowledged", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) };
  const before = new Outbox(storage);
  for (const id of ["1", "2", "3"]) before.add({ id, session: "s", text: id, attachments: [], at: "" });
  before.remove("2");
  assert.deepEqual(new Outbox(storage).of("s").map(({ id }) => id), ["1", "3"]);
  assert.deepEqual(new Outbox(storage).of("other"), []);
});

test("a failure is told once, live and stored alike", () => {
  const live = new Conversation();
  live.frame({ type: "blocks", turn: "t", from: 0, html: ["<p>Half.</p>", "<p>The key &#39;x&#39; was refused.</p>"] });
  live.frame({ type: "error", turn: "t", code: "auth", message: "The key 'x' was refused." });
  live.frame({ type: "done", turn: "t", text: "Half.\n\nThe key 'x' was refused.", html: "<p>Half.</p><p>The key &#39;x&#39; was refused.</p>", stop_reason: "error" });
  const stored = new Conversation();
  const failed = { ...reply("2", "t", "<p>Half.</p>"), stop_reason: "error" };
  failed.content.push({ type: "notice", code: "auth", text: "The key 'x' was refused." });
  stored.apply({ messages: [user("1", "t", "hi"), failed] }, turnSequence());
  for (const conversation of [live, stored]) {
    const [turn] = conversation.turns();
    assert.deepEqual([turn.reply.blocks, turn.reply.extras, turn.failure?.code], [["<p>Half.</p>"], [], "auth"]);
  }
});

test("a tool whose permission ended with the reply was denied, not broken", () => {
  const asked = [
    { type: "tool", turn: "t", call: "c", name: "shell", state: "running", input: {} },
    { type: "approval", turn: "t", id: "a", tool: "shell", input: {}, summary: "", expires_at: null },
  ];
  const denied = { type: "approval_done", turn: "t", id: "a", decision: "deny", reason: "stopped" };
  const done = { type: "done", turn: "t", text: "", html: "", stop_reason: "stopped" };
  const failed = { type: "tool", turn: "t", call: "c", name: "shell", state: "error", output: "stopped", ms: 5 };
  for (const end of [[denied, done], [denied, failed, done], [failed, denied, done], [done]]) {
    const conversation = new Conversation();
    for (const frame of [...asked, ...end]) conversation.frame(frame);
    const [tool, approval] = conversation.turns()[0].reply.extras.map(({ part }) => part);
    assert.deepEqual([tool.state, approval.reason], ["denied", "stopped"]);
  }
});

test("arguments that a person changed elsewhere are told as changed", () => {
  for (const edited of [undefined, { command: "ls" }]) {
    const conversation = new Conversation();
    conversation.frame({ type: "approval", turn: "t", id: "a", tool: "shell", input: {}, summary: "", expires_at: null });
    conversation.frame({ type: "approval_done", turn: "t", id: "a", decision: "approve", reason: "user", edited });
    const [approval] = conversation.turns()[0].reply.extras.map(({ part }) => part);
    assert.deepEqual([approval.decision, approval.edited], ["approve", edited !== undefined]);
  }
});

test("messages are put in the order of their numbers, whatever their times are", () => {
  // A message that waited for long is stored behind answers that are younger than it.
  const waited = [{ id: "9", created_at: "2026-11-22T00:24:09Z" }, { id: "10", created_at: "2026-11-22T00:24:01Z" }];
  for (const order of [waited, [{ id: "3" }], []]) {
    assert.deepEqual(oldestFirst(order), order);
    assert.deepEqual(oldestFirst([...order].reverse()), order);
  }
});

test("context and what a tool returned besides its text stand in the exchange they belong to", () => {
  const context = { id: "2", turn: "a", role: "system", content: [{ type: "context", source: "memory", text: "She likes tea." }] };
  const [alone] = turnsFromStored([user("1", "a", "hi"), context]);
  assert.deepEqual(alone.reply.extras, [{ at: 0, part: { kind: "context", source: "memory", text: "She likes tea." } }]);
  assert.ok(isBlank(alone.reply), "context is no reply");
  const picture = { type: "image", mime: "image/png", data: "AAAA" };
  const [turn, ...rest] = turnsFromStored([
    user("1", "a", "hi"),
    context,
    { id: "3", turn: "a", role: "assistant", content: [{ type: "tool_call", id: "c", name: "look", input: {} }] },
    { id: "4", turn: "a", role: "tool", content: [{ type: "tool_result", call: "c", output: "", blocks: [picture] }] },
    reply("5", "a", "<p>y</p>"),
  ]);
  assert.equal(rest.length, 0);
  assert.equal(turn.said.text, "hi");
  assert.deepEqual(turn.reply.extras.map(({ at, part }) => [at, part.kind]), [[0, "context"], [0, "tool"]]);
  assert.deepEqual(turn.reply.extras[1].part.blocks, [picture]);
});

test("a message that was taken back is marked, live, pending and stored alike", () => {
  const conversation = new Conversation();
  for (const [id, turn, queued] of [["m1", "a", 0], ["m2", "b", 1]]) {
    conversation.addLocal({ id, text: turn, attachments: [], at: "2026-01-01T00:00:00Z" });
    conversation.acknowledge({ id, turn, queued });
  }
  conversation.frame({ type: "blocks", turn: "b", from: 0, html: ["<p>Stopped before it was answered.</p>"] });
  conversation.frame({ type: "done", turn: "b", text: "Stopped before it was answered.", html: "", stop_reason: "stopped", model: "m" });
  const marked = () => [conversation.turn("b").state, conversation.turn("b").stopReason, isBlank(conversation.turn("b").reply)];
  assert.deepEqual(marked(), ["done", "withdrawn", true]);
  conversation.apply({ messages: [], pending: [{ turn: "a", text: "a", state: "running" }, { turn: "b", text: "b", state: "stopped" }] }, turnSequence());
  assert.deepEqual(marked(), ["done", "withdrawn", true]);
  assert.deepEqual(conversation.unfinished().map((turn) => turn.id), ["a"]);
  const notice = { id: "4", turn: "b", role: "assistant", content: [{ type: "notice", code: "withdrawn", text: "Stopped before it was answered." }], stop_reason: "stopped" };
  conversation.apply({ messages: [user("1", "a", "a"), reply("2", "a", "<p>x</p>"), user("3", "b", "b"), notice] }, turnSequence());
  assert.deepEqual(marked(), ["done", "withdrawn", true]);
  assert.deepEqual(texts(conversation), ["a", "b"]);
});

test("pictures of a tool come with its frame", () => {
  const conversation = new Conversation();
  conversation.frame({ type: "tool", turn: "t", call: "c", name: "draw", state: "running", input: {} });
  conversation.frame({ type: "tool", turn: "t", call: "c", name: "draw", state: "ok", output: "", blocks: [{ type: "image", mime: "image/png", data: "AA==" }] });
  assert.equal(conversation.turn("t").reply.extras[0].part.blocks.length, 1);
});

test("what was refused stays, and is not sent by itself", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) };
  const before = new Outbox(storage);
  for (const id of ["1", "2"]) before.add({ id, session: "s", text: id, attachments: [], at: "" });
  before.refuse("1", "busy");
  const after = new Outbox(storage);
  assert.deepEqual(after.of("s").map(({ id, refused }) => [id, refused]), [["1", "busy"], ["2", undefined]]);
  assert.deepEqual(after.unsent("s").map(({ id }) => id), ["2"]);
});

test("nothing is sent before the server is ready, so that what is new does not overtake what is sent again", (context) => {
  const sent = [];
  const sockets = [];
  class FakeWebSocket {
    static OPEN = 1;
    readyState = 1;
    constructor() {
      sockets.push(this);
    }
    send(text) {
      sent.push(JSON.parse(text).id);
    }
    close() {}
  }
  const fakes = { WebSocket: FakeWebSocket, location: { protocol: "http:", host: "127.0.0.1" }, addEventListener() {}, removeEventListener() {} };
  const page = { document: { hidden: false, addEventListener() {}, removeEventListener() {} } };
  const before = Object.entries({ ...fakes, ...page }).map(([name, fake]) => {
    const known = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value: fake, configurable: true, writable: true });
    return [name, known];
  });
  context.after(() => before.forEach(([name, known]) => (known ? Object.defineProperty(globalThis, name, known) : delete globalThis[name])));
  const socket = new ChatSocket("s", { frame: () => void socket.send({ id: "again" }), opened() {}, link() {}, tooLarge() {} });
  sockets[0].onopen();
  assert.equal(socket.send({ id: "new" }), false);
  sockets[0].onmessage({ data: JSON.stringify({ type: "ready" }) });
  assert.equal(socket.send({ id: "new" }), true);
  assert.deepEqual(sent, ["again", "new"]);
  socket.close();
});

test("a turn knows its versions, also when another branch takes the place of the conversation", () => {
  const conversation = new Conversation();
  const turns = ["a", "b", "c"];
  const show = (turn, first) =>
    conversation.apply({ messages: [user(first, turn, "hi"), reply(`${first}1`, turn, turn)], versions: [{ turn, turns }] }, turnSequence());
  show("c", "5");
  let [turn] = conversation.turns();
  assert.deepEqual([turn.versions, neighbour(turn, -1), neighbour(turn, 1)], [turns, "b", undefined]);
  show("a", "1");
  [turn] = conversation.turns();
  assert.deepEqual([conversation.turns().length, turn.id, neighbour(turn, -1), neighbour(turn, 1)], [1, "a", undefined, "b"]);
  assert.equal(neighbour({ id: "z", versions: [] }, 1), undefined);
});

test("an answer that was asked for again knows its versions before the server is asked for them", () => {
  const conversation = new Conversation();
  const versions = [{ turn: "b", turns: ["a", "b"] }];
  conversation.apply({ messages: [user("1", "b", "hi"), reply("11", "b", "b")], versions }, turnSequence());
  // The answer's first frame may come before the acknowledgement or after it.
  conversation.replaceFrom("m1", "b", "retry");
  conversation.acknowledge({ id: "m1", turn: "c" });
  assert.deepEqual(conversation.turn("c").versions, ["a", "b", "c"]);
  conversation.replaceFrom("m2", "c", "edit", "better");
  conversation.frame({ turn: "d", type: "delta", seq: 1, text: "yes" });
  assert.deepEqual(conversation.turn("d").versions, ["a", "b", "c", "d"]);
  assert.equal(neighbour(conversation.turn("d"), -1), "c");
});

test("the first retry makes two versions of one", () => {
  const conversation = new Conversation();
  conversation.apply({ messages: [user("1", "a", "hi"), reply("11", "a", "a")] }, turnSequence());
  conversation.replaceFrom("m1", "a", "retry");
  conversation.acknowledge({ id: "m1", turn: "b" });
  assert.deepEqual(conversation.turn("b").versions, ["a", "b"]);
  conversation.replaceFrom("m2", "b", "retry");
  conversation.refuse("m2", "no");
  assert.deepEqual(conversation.turn("b").versions, ["a", "b"], "a refused one is no version");
});

test("files are offered with the turn that changed them and all before it", () => {
  const change = (turn, path, state) => ({ turn, path, state, tool: "file_edit", kind: "changed", at: "" });
  const changes = [
    change("01", "a.md", "as_left"),
    change("02", "b.md", "put_back"),
    change("03", "a.md", "as_left"),
    change("03", "c.md", "changed_since"),
  ];
  assert.deepEqual(filesSince(changes, "01"), { names: ["a.md"], others: ["c.md"] });
  assert.deepEqual(filesSince(changes, "03"), { names: ["a.md"], others: ["c.md"] });
  assert.deepEqual(filesSince(changes, "04"), { names: [], others: [] });
  const turn = (name, state) => newTurn("t", { reply: { blocks: [], source: "", extras: [{ at: 0, part: { kind: "tool", call: "1", name, state } }] } });
  assert.equal(touchesFiles(turn("file_write", "ok")), true);
  assert.equal(touchesFiles(turn("ask_scout", "ok")), true);
  assert.equal(touchesFiles(turn("file_write", "denied")), false);
  assert.equal(touchesFiles(turn("shell", "ok")), false);
});
