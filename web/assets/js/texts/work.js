// The words of work that takes more than one turn.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const workWords = translated("work", {
  title: "Work",
  failed: "Work could not be loaded",
  label: "Multi-turn work, newest first",
  emptyTitle: "No work yet",
  empty:
    "Ask the assistant for something with several steps. It plans them as tasks, works through them in the " +
    "background, and reports the result.",
  offTitle: "Work is off",
  off: "Set `work.enabled` to let the assistant plan tasks and work through them in the background.",
  ambient: "Idle time is used as well.",
  pausedAll: "All work is paused.",
  pauseAll: "Pause all work",
  resumeAll: "Resume all work",
  allPaused: "All work is paused.",
  allResumed: "All work is resumed.",
  pause: (/** @type {string} */ goal) => `Pause “${goal}”`,
  resume: (/** @type {string} */ goal) => `Resume “${goal}”`,
  cancel: (/** @type {string} */ goal) => `Cancel “${goal}”`,
  willPause: "It is being paused.",
  willResume: "It is being resumed.",
  willStop: "It is being cancelled.",
  cancelTitle: "Cancel this work?",
  cancelBody: (/** @type {string} */ goal) => `“${goal}” ends with a receipt of what was done. It cannot be resumed.`,
  cancelAction: "Cancel work",
  columns: {
    goal: "Goal",
    state: "State",
    tasks: "Tasks done",
    took: "Took",
    cost: "Cost",
    when: "Changed",
    actions: "Actions",
  },
  states: /** @type {Record<string, {label: string, tone: "good" | "warn" | "bad" | "accent" | "", icon: string}>} */ ({
    queued: { label: "Queued", tone: "", icon: "clock" },
    running: { label: "Running", tone: "accent", icon: "spark" },
    paused: { label: "Paused", tone: "warn", icon: "pause" },
    done: { label: "Done", tone: "good", icon: "check" },
    failed: { label: "Ended early", tone: "bad", icon: "alert" },
    stopped: { label: "Cancelled", tone: "", icon: "stop" },
  }),
  wishes: /** @type {Record<string, string>} */ ({
    stop: "Is being cancelled",
    pause: "Is being paused",
    resume: "Is being resumed",
  }),
  taskStates: /** @type {Record<string, string>} */ ({
    todo: "not started",
    running: "in progress",
    done: "done",
    failed: "failed",
  }),
  tasksDone: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${done.toLocaleString("en")} of ${plural(all, "task", "tasks")}`,
  reason: "Why",
  turns: "Turns",
  planned: "Planned",
  conversation: "Conversation",
  origin: "Worked on",
  origins: /** @type {Record<string, string>} */ ({ person: "At once", idle: "In idle time" }),
  tasks: "Tasks",
  receipt: "Receipt",
});
