// Changes of what others may change too: what is sent, when it is asked, and what comes of each answer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigChange } from "../assets/js/dashboard/panels/config/change.js";
import { Problem } from "../assets/js/shared/api.js";
import { SharedItem } from "../assets/js/shared/shared-item.js";

const path = "/api/memory/1";

/** A server with one thing in versions. */
function server(content) {
  const state = { content, version: 1, sent: [] };
  const etag = () => `"${state.version}"`;
  const data = () => ({ content: state.content });
  const refused = () => {
    const problem = new Problem(412, "it was changed elsewhere meanwhile", "changed_elsewhere");
    problem.document = { current: state.content === null ? null : data() };
    problem.etag = state.content === null ? "" : etag();
    return problem;
  };
  const exchange = async (_, { method = "GET", body, headers = {} } = {}) => {
    if (method !== "GET") state.sent.push([method, headers["If-Match"] ?? ""]);
    const match = headers["If-Match"];
    if (match && (state.content === null || match !== etag())) throw refused();
    if (state.content === null) throw new Problem(404, "there is no such thing");
    if (method === "PUT") elsewhere(body.content);
    if (method === "DELETE") state.content = null;
    return { data: data(), etag: etag() };
  };
  const elsewhere = (text) => {
    state.content = text;
    state.version += 1;
  };
  return { state, exchange, elsewhere };
}

const never = async () => assert.fail("nothing is to be asked");
const unlike = (base) => (present) => present.content === base;
const put = (content) => ({ method: "PUT", body: { content } });

test("a change carries the version that was read, and its answer is the next one", async () => {
  const { state, exchange } = server("one");
  const item = new SharedItem(exchange, path);
  await item.read();
  assert.equal((await item.send(put("two"), { isSame: unlike("one"), ask: never })).outcome, "saved");
  assert.equal((await item.send(put("three"), { isSame: unlike("two"), ask: never })).outcome, "saved");
  assert.deepEqual(state.sent, [
    ["PUT", '"1"'],
    ["PUT", '"2"'],
  ]);
});

test("a change made elsewhere is overwritten only on request", async () => {
  for (const choice of ["mine", "theirs", "stay"]) {
    const { state, exchange, elsewhere } = server("one");
    const item = new SharedItem(exchange, path);
    await item.read();
    elsewhere("theirs");
    const asked = [];
    const judges = { isSame: unlike("one"), ask: async (present) => (asked.push(present?.content), choice) };
    const { outcome } = await item.send(put("mine"), judges);
    assert.deepEqual(asked, ["theirs"]);
    assert.equal(outcome, choice === "mine" ? "saved" : choice);
    assert.equal(state.content, choice === "mine" ? "mine" : "theirs");
    // Who stays is asked again, who takes theirs goes on from there.
    if (choice === "stay") assert.equal((await item.send(put("mine"), judges)).outcome, "stay");
    if (choice === "theirs") assert.equal((await item.send(put("next"), { ...judges, ask: never })).outcome, "saved");
  }
});

test("another change between the question and the answer asks again", async () => {
  const { state, exchange, elsewhere } = server("one");
  const item = new SharedItem(exchange, path);
  await item.read();
  elsewhere("two");
  const asked = [];
  const ask = async ({ content }) => {
    asked.push(content);
    if (asked.length === 1) elsewhere("three");
    return "mine";
  };
  await item.send(put("mine"), { isSame: unlike("one"), ask });
  assert.deepEqual(asked, ["two", "three"]);
  assert.equal(state.content, "mine");
});

test("a new version with equal content is no conflict, and retries are bounded", async () => {
  const { state, exchange, elsewhere } = server("one");
  const item = new SharedItem(exchange, path);
  await item.read();
  elsewhere("one");
  assert.equal((await item.send(put("mine"), { isSame: unlike("one"), ask: never })).outcome, "saved");
  const busy = async (where, options) => {
    if (options?.method === "PUT") elsewhere("one");
    return exchange(where, options);
  };
  elsewhere("one");
  const other = new SharedItem(busy, path);
  await other.read();
  await assert.rejects(other.send(put("mine"), { isSame: unlike("one"), ask: never }), { status: 412 });
  assert.ok(state.sent.length < 12);
});

test("a deletion elsewhere is recognised by 412 and by 404", async () => {
  for (const tagged of [true, false]) {
    const { state, exchange } = server("one");
    const untagged = async (...call) => ({ ...(await exchange(...call)), etag: "" });
    const item = new SharedItem(tagged ? exchange : untagged, path);
    await item.read();
    state.content = null;
    const { outcome, data } = await item.send(put("mine"), {
      isSame: unlike("one"),
      ask: async (present) => (assert.equal(present, null), "mine"),
    });
    assert.deepEqual([outcome, data], ["mine", null]);
    assert.equal(await item.peek(), null);
  }
});

test("other refusals are passed on", async () => {
  const item = new SharedItem(async () => {
    throw new Problem(422, "is required");
  }, path);
  await assert.rejects(item.send(put(""), { isSame: () => false, ask: never }), { status: 422 });
});

/** A configuration file of one line a key. */
function config(values) {
  const state = { values, version: 1, saved: [] };
  const exchange = async (where, { method = "GET", body, headers = {} } = {}) => {
    const etag = `"${state.version}"`;
    if (method === "GET") return { data: { budget: { ...state.values } }, etag };
    if (headers["If-Match"] !== etag)
      throw Object.assign(new Problem(412, "changed", "changed_elsewhere"), {
        document: { current: { budget: { ...state.values } } },
        etag,
      });
    const [[key, value]] = Object.entries(body);
    const name = key.split(".")[1];
    const diff = `--- config.toml\n+++ config.toml\n@@ -${state.version} @@\n-${name} = ${state.values[name]}\n+${name} = ${value}\n`;
    if (where.endsWith("dry_run=true")) return { data: { diff }, etag };
    state.saved.push(diff);
    elsewhere({ [name]: value });
    return { data: { diff, saved: true }, etag: `"${state.version}"` };
  };
  const elsewhere = (changes) => {
    Object.assign(state.values, changes);
    state.version += 1;
  };
  return { state, elsewhere, context: { exchange } };
}

test("a reviewed change of the configuration is saved only while the review is true", async () => {
  const { state, elsewhere, context } = config({ daily_usd: 7, warn_ratio: 0.8 });
  const change = new ConfigChange(context, "budget.daily_usd");
  const reviewed = await change.review(22);
  assert.match(reviewed.edited.diff, /-daily_usd = 7\n\+daily_usd = 22/);
  elsewhere({ daily_usd: 11 });
  const { kept, fresh } = await change.save(reviewed, {});
  assert.equal(kept, null);
  assert.equal(fresh.present, 11);
  assert.match(fresh.edited.diff, /-daily_usd = 11\n\+daily_usd = 22/);
  assert.equal(state.values.daily_usd, 11, "nothing was saved");
  assert.ok((await change.save(fresh, {})).kept.saved);
  assert.equal(state.values.daily_usd, 22);
});

test("a change of another key makes no difference to the review", async () => {
  const { state, elsewhere, context } = config({ daily_usd: 7, warn_ratio: 0.8 });
  const change = new ConfigChange(context, "budget.daily_usd");
  const reviewed = await change.review(22);
  elsewhere({ warn_ratio: 0.5 });
  assert.ok((await change.save(reviewed, {})).kept.saved);
  assert.deepEqual(state.values, { daily_usd: 22, warn_ratio: 0.5 });
});
