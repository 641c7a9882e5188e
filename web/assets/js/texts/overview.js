// The words of the overview.

import { counted } from "../shared/count.js";
import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${counted(n)} ${n === 1 ? one : many}`;

export const overviewWords = translated("overview", {
  problems: "Needs attention",
  fine: "Everything works.",
  today: "Today",
  todayHint: "A day begins at midnight UTC.",
  activity: "Recent activity",
  allSessions: "All sessions",
  noActivity: "There are no messages yet.",
  sayHello: "Say hello in the chat",
  next: "Next jobs",
  allJobs: "All jobs",
  noJobs: "No job is planned.",
  addJob: "Add one",
  jobsOff: "The scheduler is off.",

  service: "Service",
  active: "Answering now",
  activeMore: (/** @type {number} */ n) => (n === 0 ? "No turn runs" : n === 1 ? "One turn runs" : `${n} turns run`),
  calls: "Model calls",
  failed: (/** @type {string} */ share) => `${share} failed`,
  noneFailed: "None failed",
  noCalls: "No calls today",
  tokens: "Tokens",
  tokensMore: (/** @type {string} */ input, /** @type {string} */ output) => `${input} in, ${output} out`,
  cost: "Cost",
  messages: "Messages",
  messagesMore: "From people and programs, answered or failed",
  noMessages: "None today",
  answers: "Turns",
  half: (/** @type {string} */ time) => `Half of them within ${time}`,
  errors: "Errors",
  rate: "Share of calls, deliveries and jobs that failed",
  errorRate: (/** @type {string} */ share) => `${share} of what was tried failed`,
  noErrors: /** @type {(n: number) => string} */ ((n) => (n === 0 ? "Nothing failed" : "Logged only")),
  denied: (/** @type {number} */ n) => plural(n, "tool call was denied", "tool calls were denied"),
  tools: "Tool calls",
  toolsMore: (/** @type {string} */ percent) => `${percent} worked`,
  trend: (/** @type {string} */ what, /** @type {string} */ values) => `${what} in the last 14 days: ${values}`,
  unknown: "Not known",

  lost: (/** @type {number} */ n) =>
    n === 1 ? "A part of this page could not be loaded" : `${n} parts of this page could not be loaded`,
  notLoaded: "This could not be loaded.",

  notReady: "Aethon takes no new messages",
  noModel: "No model answers",
  demo: "This is a demonstration: an offline model answers.",
  demoRemedy: "Choose a real one in a new chat, under “Use a real model”, or run `aethon-cli init` and start Aethon again.",
  toChat: "Open the chat",
  asked: (/** @type {number} */ n) => `${plural(n, "question waits", "questions wait")} for you`,
  answer: "Answer",
  budgetGone: "Today’s budget is used up",
  budgetGoneRemedy: "Replies are refused until midnight UTC. Raise `budget.daily_usd` to go on.",
  budgetWarn: "Today’s budget is almost used up",
  failing: (/** @type {string} */ title) => `${title} fails`,
  jobFailed: (/** @type {string} */ id) => `The job “${id}” failed`,
  jobMissed: (/** @type {string} */ id) => `The job “${id}” was missed`,
  undelivered: (/** @type {number} */ n) => plural(n, "reply could not be delivered", "replies could not be delivered"),
  undeliveredRemedy: "Send them again, or remove them.",
  showDeliveries: "Show them",
  brokenSops: (/** @type {number} */ n) => plural(n, "SOP has faults", "SOPs have faults"),
  errorsLogged: (/** @type {number} */ n) =>
    plural(n, "error was logged in the last hour", "errors were logged in the last hour"),
  showBudget: "Usage",
  showJob: "Show the job",
  showKey: "Show the key",
  showLogs: "Logs",
  showSops: "SOPs",
  showModel: "Show the key",
});
