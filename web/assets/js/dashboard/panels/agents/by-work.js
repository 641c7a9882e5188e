// What the agents do now decides who stands first.

/** @import { AgentActivity, AgentStanding } from "../../../wire/api.js" */

/**
 * Those that work or ask for something, and those that wait for work.
 * @param {AgentStanding[]} standing @param {AgentActivity[]} active
 */
export function byWork(standing, active) {
  const isBusy = (/** @type {AgentStanding} */ agent) =>
    agent.state !== "idle" || active.some((one) => one.name === agent.name);
  return [standing.filter(isBusy), standing.filter((agent) => !isBusy(agent))];
}
