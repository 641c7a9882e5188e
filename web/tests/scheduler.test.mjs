// The scheduler's panel: the next 24 hours, and what a changed job sends.

import assert from "node:assert/strict";
import { test } from "node:test";
import { dayOf } from "../assets/js/dashboard/panels/scheduler/day.js";
import { bodyOf, freshValues, linesOf, valuesOf } from "../assets/js/dashboard/panels/scheduler/job-values.js";

const from = new Date(2026, 2, 4, 10, 20).getTime();
const at = (minutes) => new Date(from + minutes * 60000).toISOString();
const fresh = freshValues({ zone: "Europe/Berlin", channels: ["telegram", "webchat"], now: from });

test("the day has the runs of 24 hours by the hour, and frequent jobs apart", () => {
  const jobs = [
    { job_id: "late", next_runs: [at(5), at(1445)] },
    { job_id: "early", next_runs: [at(1)] },
    { job_id: "once", next_run: at(45), next_runs: undefined },
    { job_id: "often", cron: "*/5 * * * *", next_runs: [at(1), at(6), at(11), at(16), at(21)] },
    { job_id: "paused", enabled: false, next_runs: [at(2)] },
    { job_id: "past", next_runs: [at(-1)] },
    { job_id: "never", next_run: null, next_runs: [] },
  ];
  const { hours, often } = dayOf(jobs, from);
  assert.deepEqual(
    hours.map(([hour, runs]) => [new Date(hour).getHours(), runs.map(({ job }) => job)]),
    [
      [10, ["early", "late"]],
      [11, ["once"]],
    ],
  );
  assert.deepEqual(often.map(({ job_id: id }) => id), ["often"]);
});

test("a changed job empties what was emptied, and sends no field of another kind", () => {
  const job = {
    job_id: "tea",
    cron: "0 9 * * *",
    timezone: "Asia/Tokyo",
    sop_name: "brew",
    prompt: "leaf=green",
    channel: "telegram",
    recipient: "anna",
    missed: "run_once",
    retries: 2,
  };
  const before = valuesOf(job, fresh);
  assert.deepEqual([before.task, before.input, before.prompt, before.when], ["sop", "leaf=green", "", "cron"]);
  assert.deepEqual(bodyOf(before, before), {
    sop_name: "brew",
    prompt: "leaf=green",
    cron: "0 9 * * *",
    timezone: "Asia/Tokyo",
    channel: "telegram",
    recipient: "anna",
    missed: "run_once",
    retries: 2,
  });
  const changed = bodyOf({ ...before, task: "prompt", prompt: " Tea? ", recipient: "" }, before);
  assert.deepEqual([changed.sop_name, changed.prompt, changed.recipient], [null, "Tea?", null]);
  const once = bodyOf({ ...before, when: "once", run_at: "2030-01-02T03:04" }, before);
  assert.equal(once.run_at, new Date(2030, 0, 2, 3, 4).toISOString());
  assert.ok(!("cron" in once) && !("timezone" in once));
});

test("a time that was not touched is not sent, and keeps its seconds", () => {
  const before = valuesOf({ run_at: at(90), prompt: "x", channel: "webchat", missed: "skip", retries: 0 }, fresh);
  assert.ok(!("run_at" in bodyOf({ ...before, prompt: "y" }, before)));
  assert.ok("run_at" in bodyOf({ ...before, run_at: "2031-01-01T00:00" }, before));
});

test("a new job leaves empty fields to the server, and jobs are compared line by line", () => {
  const body = bodyOf({ ...fresh, prompt: "hello" }, null);
  assert.equal(JSON.stringify(body).includes("null"), false);
  assert.deepEqual([body.channel, body.recipient, body.sop_name], ["webchat", undefined, undefined]);
  assert.match(linesOf({ ...fresh, prompt: "hello" }), /^Prompt: hello\nSchedule: 0 8 \* \* \*$/m);
});
