// Drafts of forms: each tab has its own, the newest of another is offered, and there are not too many.

import assert from "node:assert/strict";
import { test } from "node:test";

/** A storage of a browser. */
class Storage {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }
  setItem(key, text) {
    this[key] = String(text);
  }
  removeItem(key) {
    delete this[key];
  }
}
globalThis.localStorage = new Storage();
const inTab = (name) => {
  globalThis.sessionStorage = new Storage();
  sessionStorage.setItem("aethon.tab", name);
};
const { draftOf, draftedItems, dropDraft, dropDrafts, keepDraft } = await import("../assets/js/shared/draft-store.js");

test("a draft is found again by its item, first the one of this tab", () => {
  inTab("a");
  keepDraft("sop:tea", { content: "mine" }, { content: "before" });
  assert.deepEqual(draftOf("sop:tea").values, { content: "mine" });
  assert.ok(draftOf("sop:tea").isOwn);
  assert.equal(draftOf("sop:te"), null);
  inTab("b");
  assert.deepEqual([draftOf("sop:tea").values.content, draftOf("sop:tea").isOwn], ["mine", false]);
  keepDraft("sop:tea", { content: "other" }, { content: "before" });
  assert.equal(draftOf("sop:tea").values.content, "other");
  assert.deepEqual(draftedItems("sop:"), ["sop:tea"]);
  dropDraft("sop:tea");
  assert.equal(draftOf("sop:tea").values.content, "mine", "that of the other tab is still there");
  dropDraft("sop:tea", "a");
  assert.equal(draftOf("sop:tea"), null);
});

test("what is no draft counts as none", () => {
  inTab("a");
  for (const text of ["", "null", "[]", "{", '{"values": 1, "base": {}, "at": 1}', '{"values": {}, "base": {}}']) {
    localStorage.setItem("aethon.form.job:#a", text);
    assert.equal(draftOf("job:"), null, text);
  }
  dropDrafts();
  assert.deepEqual(Object.keys(localStorage), []);
});

test("the oldest make room, and those of last month are gone", () => {
  inTab("a");
  localStorage.setItem("aethon.theme", "dark");
  localStorage.setItem("aethon.form.old#a", JSON.stringify({ values: {}, base: {}, at: Date.now() - 31 * 86400000 }));
  for (let number = 0; number < 50; number += 1) {
    keepDraft(`memory:${number}`, { content: "x" }, { content: "" });
    assert.ok(draftOf(`memory:${number}`), "the newest is kept");
  }
  assert.equal(draftOf("old"), null);
  assert.equal(draftedItems("memory:").length, 30);
  dropDrafts();
  assert.deepEqual(Object.keys(localStorage), ["aethon.theme"]);
});

test("a storage that is forbidden loses drafts and breaks nothing", () => {
  const kept = globalThis.localStorage;
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    get: () => {
      throw new Error("forbidden");
    },
  });
  keepDraft("sop:x", { content: "x" }, { content: "" });
  assert.equal(draftOf("sop:x"), null);
  dropDrafts();
  Object.defineProperty(globalThis, "localStorage", { configurable: true, writable: true, value: kept });
});
