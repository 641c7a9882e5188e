// The number of unread conversations on the window and on the icon of the installed app.

import assert from "node:assert/strict";
import test from "node:test";

test("the number on the icon follows the unread conversations, where there is one", async () => {
  globalThis.document ??= /** @type {any} */ ({ title: "" });
  const calls = [];
  const app = {
    setAppBadge: (n) => (calls.push(n), Promise.reject(new Error("not installed"))),
    clearAppBadge: () => (calls.push(0), Promise.resolve()),
  };
  Object.defineProperty(globalThis, "navigator", { value: app, configurable: true });
  const { showUnread } = await import("../assets/js/chat/app-badge.js");
  showUnread("Plans", 0);
  assert.deepEqual(calls, [], "there was no number before");
  showUnread("Plans", 2);
  showUnread("Garden", 2);
  assert.match(document.title, /2.*Garden/);
  showUnread("Garden", 0);
  assert.deepEqual(calls, [2, 0]);
  assert.doesNotMatch(document.title, /2/);
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  showUnread("Garden", 1);
  assert.match(document.title, /1/, "a browser without a number has the title");
});
