// The list of conversations: what stands under "Unread", and for how long.

import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, nameOf } from "../assets/js/chat/grouping.js";
import { UnreadGroup } from "../assets/js/chat/unread-group.js";

const now = new Date(2026, 10, 20, 12);
const session = (name, more = {}) => ({
  session_id: `webchat:${name}`,
  channel: "webchat",
  title: name,
  updated_at: new Date(2026, 10, 20, 9).toISOString(),
  ...more,
});
const isUnread = ({ unread }) => unread === true;

/** The list of a page: what happens there, and what has the focus. */
class List extends EventTarget {
  focused = null;
  querySelector = (css) => (css === ":focus-visible" ? this.focused : null);
}

/** A list with its group, and how often it was drawn because the pointer or the focus left it. */
function page() {
  const list = new List();
  const drawn = { times: 0 };
  const group = new UnreadGroup(list, () => (drawn.times += 1));
  const names = (sessions) => [...group.of(sessions, isUnread)].map(nameOf);
  return { list, drawn, names };
}

test("unread conversations come after the pinned ones, out of their folder and their day", () => {
  const sessions = [
    session("read"),
    session("old", { unread: true, updated_at: new Date(2026, 9, 1).toISOString() }),
    session("tax", { unread: true, folder: "Work" }),
    session("kept", { unread: true, pinned: true }),
    session("away", { unread: true, archived: true }),
  ];
  const groups = grouped(sessions, now, false, new Set(sessions.filter(isUnread)));
  assert.deepEqual(
    groups.map(({ label, sessions: members }) => [label, members.map(nameOf)]),
    [
      ["Pinned", ["kept"]],
      ["Unread", ["tax", "old"]],
      ["Today", ["read"]],
    ],
  );
  assert.ok(!grouped(sessions, now).some(({ label }) => label === "Unread"), "a search has no such group");
});

test("a folder that is called Unread stays a folder", () => {
  const sessions = [session("one", { folder: "Unread" }), session("two", { unread: true })];
  const groups = grouped(sessions, now, false, new Set([sessions[1]]));
  assert.deepEqual(
    groups.map(({ label, key }) => [label, key]),
    [
      ["Unread", "Unread"],
      ["Unread", "folder:Unread"],
    ],
  );
});

test("what was opened stays while the pointer is in the list, and goes when it leaves", () => {
  const { list, drawn, names } = page();
  assert.deepEqual(names([session("a", { unread: true }), session("b")]), ["a"]);
  list.dispatchEvent(new Event("pointerenter"));
  const opened = [session("a"), session("b")];
  assert.deepEqual(names(opened), ["a"]);
  assert.deepEqual(names(opened), ["a"], "from one drawing to the next");
  assert.deepEqual(names([session("a"), session("b", { unread: true })]), ["b", "a"], "what is unread comes as ever");
  list.dispatchEvent(new Event("pointerleave"));
  assert.equal(drawn.times, 1);
  assert.deepEqual(names([session("a"), session("b", { unread: true })]), ["b"]);
});

test("the focus keeps it as the pointer does, and the pointer without it", () => {
  const { list, drawn, names } = page();
  names([session("a", { unread: true })]);
  list.focused = {};
  assert.deepEqual(names([session("a")]), ["a"]);
  list.dispatchEvent(new Event("pointerenter"));
  list.focused = null;
  list.dispatchEvent(new Event("focusout"));
  assert.deepEqual(names([session("a")]), ["a"], "the pointer is still there");
  list.dispatchEvent(new Event("pointerleave"));
  assert.deepEqual(names([session("a")]), []);
  assert.equal(drawn.times, 2);
});

test("leaving draws nothing anew where nothing was kept, and what is gone is not kept", () => {
  const { list, drawn, names } = page();
  names([session("a", { unread: true })]);
  list.dispatchEvent(new Event("pointerenter"));
  list.dispatchEvent(new Event("pointerleave"));
  assert.equal(drawn.times, 0);
  list.dispatchEvent(new Event("pointerenter"));
  assert.deepEqual(names([]), []);
  assert.deepEqual(names([session("a")]), [], "it has stood elsewhere meanwhile");
});
