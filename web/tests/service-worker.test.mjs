// The installed page's worker, as far as it needs no browser: what it does when the address for push messages changes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const source = readFileSync(new URL("../assets/service-worker.js", import.meta.url), "utf8");

/** Starts the worker below a path. @param {{isSignedIn?: boolean}} [options] */
function start({ isSignedIn = true } = {}) {
  /** @type {Record<string, (event: any) => void>} */ const listeners = {};
  /** @type {any[]} */ const sent = [];
  const fresh = { endpoint: "https://push.example/fresh", toJSON: () => ({ endpoint: "https://push.example/fresh" }) };
  const scope = {
    location: new URL("https://host.example/aethon/dashboard/static/service-worker.js?tree=abc"),
    registration: {
      scope: "https://host.example/aethon/",
      pushManager: { subscribe: async (/** @type {any} */ options) => (sent.push(options), fresh) },
    },
    addEventListener: (/** @type {string} */ name, /** @type {(event: any) => void} */ listen) => (listeners[name] = listen),
    fetch: async (/** @type {string} */ path, /** @type {any} */ { method = "GET", body = "null" } = {}) => {
      sent.push([method, path, JSON.parse(body)]);
      return { ok: isSignedIn, json: async () => ({ key: "the-key" }) };
    },
    URL,
    URLSearchParams,
  };
  vm.runInNewContext(source, scope);
  const change = async (/** @type {any} */ event) => {
    let done = Promise.resolve();
    listeners.pushsubscriptionchange({ ...event, waitUntil: (/** @type {Promise<void>} */ work) => (done = work) });
    await done;
  };
  return { change, sent };
}

const path = "/aethon/api/push/subscriptions";

test("a new address for push messages is handed to the server in place of the old one", async () => {
  const { change, sent } = start();
  const [old, fresh] = ["old", "new"].map((name) => ({ endpoint: name, toJSON: () => ({ endpoint: name }) }));
  await change({ oldSubscription: old, newSubscription: fresh });
  assert.deepEqual(JSON.parse(JSON.stringify(sent)), [
    ["POST", path, { endpoint: "new" }],
    ["DELETE", path, { endpoint: "old" }],
  ]);
});

test("without a new address the worker asks for one, with the key of the server", async () => {
  const { change, sent } = start();
  await change({ oldSubscription: null, newSubscription: null });
  assert.deepEqual(JSON.parse(JSON.stringify(sent)), [
    ["GET", "/aethon/api/push/key", null],
    { userVisibleOnly: true, applicationServerKey: "the-key" },
    ["POST", path, { endpoint: "https://push.example/fresh" }],
  ]);
});

test("the old address stays with a server that does not take the new one", async () => {
  const { change, sent } = start({ isSignedIn: false });
  await change({ oldSubscription: { endpoint: "old" }, newSubscription: { toJSON: () => ({ endpoint: "new" }) } });
  assert.equal(sent.length, 1);
});
