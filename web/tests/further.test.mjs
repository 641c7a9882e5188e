// Further pages of a list: what is shown after more was loaded and the newest page has come anew.

import assert from "node:assert/strict";
import { test } from "node:test";

/** As much of an element as a button needs. */
class Element {
  children = [];
  dataset = {};
  attributes = new Map();
  listeners = new Map();
  append = (...children) => this.children.push(...children);
  setAttribute = (name, value) => this.attributes.set(name, value);
  addEventListener = (event, listener) => this.listeners.set(event, listener);
  remove = () => {};
  get hidden() {
    return this.attributes.has("hidden");
  }
  set hidden(isHidden) {
    if (isHidden) this.attributes.set("hidden", "");
    else this.attributes.delete("hidden");
  }
}
Object.assign(globalThis, { Node: Element, document: { createElement: () => new Element(), documentElement: { lang: "en", dataset: {} } } });
const { further, withTail } = await import("../assets/js/components/further.js");

const key = (row) => row.id;
const ids = (rows) => rows.map(key).join("");
const rowsOf = (text) => [...text].map((id) => ({ id }));

/** A server that has these rows, newest first, two on a page. The cursor is the last row of a page. */
function page(rows, options = {}) {
  const server = { rows, asked: [], fails: false };
  const answer = (cursor) => {
    const from = cursor ? server.rows.indexOf(cursor) + 1 : 0;
    const found = server.rows.slice(from, from + 2);
    return { rows: rowsOf(found), next_cursor: from + 2 < server.rows.length ? found.at(-1) : null };
  };
  const request = async (path) => {
    server.asked.push(path);
    if (server.fails) throw new Error("no answer");
    return answer(path);
  };
  const shown = [];
  const list = further(
    { request, signal: new AbortController().signal },
    { path: (cursor) => cursor, rows: (found) => found.rows, key, shown: () => shown.push(ids(list.rows())), ...options },
  );
  const [button] = list.element.children;
  return {
    server,
    shown,
    list,
    refresh: () => {
      const { rows: first, next_cursor: next } = answer("");
      return ids(list.take(first, next));
    },
    more: async () => {
      button.listeners.get("click")();
      await new Promise((resolve) => setTimeout(resolve));
    },
  };
}

test("the newest page is followed by what was known behind its last row", () => {
  const cases = [
    ["ab", "", "ab", "nothing was known"],
    ["ab", "abcd", "abcd", "nothing is new"],
    ["xa", "abcd", "xabcd", "one is new"],
    ["xy", "abcd", "xyabcd", "a whole page is new"],
    ["ac", "abcd", "acd", "one of the page is gone"],
    ["", "abcd", "", "all are gone"],
  ];
  for (const [first, before, all, why] of cases)
    assert.equal(ids(withTail(rowsOf(first), rowsOf(before), key)), all, why);
});

test("more adds the next page, until there is none", async () => {
  const { server, shown, list, refresh, more } = page("abcde");
  assert.equal(refresh(), "ab");
  assert.equal(list.element.hidden, false);
  await more();
  await more();
  assert.equal(shown.at(-1), "abcde");
  assert.equal(list.element.hidden, true);
  assert.deepEqual(server.asked, ["b", "b", "d"], "rows that change are asked for again");
});

test("rows that change are renewed behind each newest page", async () => {
  const { server, shown, refresh, more } = page("abcd");
  refresh();
  await more();
  server.rows = "xabd";
  assert.equal(refresh(), "xabcd", "at first as it was known");
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(shown.at(-1), "xabd", "what is gone is gone");
});

test("rows that last are not asked for again, and none is lost between the pages", async () => {
  const { server, shown, list, refresh, more } = page("abcdef", { isLasting: true });
  refresh();
  await more();
  assert.equal(shown.at(-1), "abcd");
  server.rows = "xabcdef";
  assert.equal(refresh(), "xabcd");
  assert.deepEqual(server.asked, ["b"]);
  server.rows = "uvwxabcdef";
  refresh();
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([shown.at(-1), server.asked.at(-1)], ["uvwx", "v"], "what came between is asked for");
  await more();
  await more();
  await more();
  assert.equal(shown.at(-1), "uvwxabcdef");
  assert.equal(list.element.hidden, true);
});

test("a page that does not come leaves everything as it was, and is asked for again", async () => {
  const { server, list, refresh, more } = page("abcd");
  refresh();
  server.fails = true;
  await more();
  assert.equal(ids(list.rows()), "ab");
  assert.equal(list.element.hidden, false);
  server.fails = false;
  await more();
  assert.equal(ids(list.rows()), "abcd");
});
