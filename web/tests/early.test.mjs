// What the dashboard asks for ahead of its modules.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { approvalsPath } from "../assets/js/dashboard/approvals-path.js";
import { budgetPath } from "../assets/js/dashboard/facts.js";
import { statusPath } from "../assets/js/shared/status-path.js";
import { panels } from "../assets/js/dashboard/panels.js";
import { paths as configPaths } from "../assets/js/dashboard/panels/config/index.js";
import { paths } from "../assets/js/dashboard/panels/overview/index.js";
import { request } from "../assets/js/shared/api.js";
import { counted } from "../assets/js/shared/count.js";

const script = await readFile(new URL("../assets/js/early/dashboard.js", import.meta.url), "utf8");

/** What the script of the head asks for at an address, and what it leaves. @param {string} hash */
function early(hash) {
  const world = {
    location: { hash },
    AbortSignal,
    fetch: async (path) => Response.json({ path }),
    setTimeout: () => 0,
  };
  runInNewContext(script, Object.assign(world, { globalThis: world }));
  return world.aethonEarlyAnswers;
}

/** The files that it asks for at an address. @param {string} hash */
function filesAhead(hash) {
  const head = [];
  const world = {
    location: { hash },
    AbortSignal,
    URL,
    fetch: async (path) => Response.json({ path }),
    setTimeout: () => 0,
    document: {
      currentScript: { src: "http://here/aethon/dashboard/static/TREE/js/early/dashboard.js" },
      createElement: () => ({}),
      head: { append: (link) => head.push(link.href) },
    },
  };
  runInNewContext(script, Object.assign(world, { globalThis: world }));
  return head;
}

test("the script and the styles of the panel in the address are loaded ahead of the page's script, and of no other", () => {
  const below = "/aethon/dashboard/static/TREE";
  for (const { id, hasStyles } of panels)
    assert.deepEqual(
      filesAhead(`#/${id}/a?q=b`),
      [`${below}/js/dashboard/panels/${id}/index.js`, ...(hasStyles ? [`${below}/css/panels/${id}.css`] : [])],
      id,
    );
  assert.deepEqual(filesAhead(""), filesAhead("#/overview"));
  for (const hash of ["#/nothing", "#/constructor"]) assert.deepEqual(filesAhead(hash), [], hash);
});

test("the first requests of the frame, the overview and the configuration, and no others, are sent ahead of the modules", () => {
  const everywhere = [statusPath, approvalsPath, budgetPath];
  const overview = [...everywhere, ...Object.values(paths)].sort();
  for (const hash of ["", "#/", "#/overview"]) assert.deepEqual([...early(hash).keys()].sort(), overview, hash);
  assert.deepEqual([...early("#/config/model.provider").keys()].sort(), [...everywhere, ...configPaths].sort());
  for (const hash of ["#/sessions/a", "#/constructor"]) assert.deepEqual([...early(hash).keys()].sort(), everywhere.sort());
});

test("an early answer is handed over once", async (t) => {
  const asked = [];
  t.mock.method(globalThis, "fetch", async (path) => (asked.push(path), Response.json({ late: true })));
  globalThis.aethonEarlyAnswers = early("#/overview");
  t.after(() => delete globalThis.aethonEarlyAnswers);
  assert.deepEqual(
    await request(statusPath, { method: "POST" }),
    { late: true },
    "an action is never taken for a question",
  );
  assert.deepEqual(await request(statusPath), { path: statusPath });
  assert.deepEqual(await request(statusPath), { late: true });
  assert.deepEqual(asked, [statusPath, statusPath]);
});

test("numbers in full", () => {
  assert.deepEqual([0, 7, 999, 1000, 1234567, 0.5, -3].map(counted), [
    "0",
    "7",
    "999",
    "1,000",
    "1,234,567",
    "0.5",
    "-3",
  ]);
});
