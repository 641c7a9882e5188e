// Which panels there are, in the order and the groups of the rail. A new panel is a row here, a module
// `panels/ID.js`, its words in `texts/ID.js` and, where it needs some, its styles in `css/panels/ID.css`. None of the three is
// loaded before somebody opens the panel, but for the overview: most visits begin there, so the page brings it along.
//
// A module exports `mount(root, context)`, which fills `root` and returns what the frame may call later (`Mounted`).

import { shell } from "../texts/shell.js";

/** @import { Context } from "./context.js" */

/**
 * What a mounted panel offers; all of it is optional. `live` hears every event of `/ws/dashboard`. `refresh` is called when
 * the connection came back or events were missed: what is shown may be old. It is called as well when the page has its first
 * connection, with true: what was asked for before that is a moment old. `route` is called when only the rest of the address
 * changed; without it, and where it answers false, the panel is mounted anew. `unmount` is called before the panel goes; what hangs on `context.signal`
 * ends by itself.
 * @typedef {{live?: (topic: string, data: any) => void, refresh?: (isNew?: boolean) => void,
 *   route?: (parts: string[], query: URLSearchParams) => boolean | void, unmount?: () => void}} Mounted
 * @typedef {(root: HTMLElement, context: Context) => Mounted | void} Mount
 * @typedef {{id: string, label: string, icon: string, group: string, hasStyles?: boolean}} Panel
 */

const { panels: label, groups } = shell;

/** @type {Panel[]} */
export const panels = [
  { id: "overview", label: label.overview, icon: "gauge", group: groups.now },
  { id: "company", label: label.company, icon: "people", group: groups.now, hasStyles: true },
  { id: "monitor", label: label.monitor, icon: "pulse", group: groups.now, hasStyles: true },
  { id: "approvals", label: label.approvals, icon: "shield", group: groups.now, hasStyles: true },
  { id: "sessions", label: label.sessions, icon: "chat", group: groups.work, hasStyles: true },
  { id: "agents", label: label.agents, icon: "spark", group: groups.work, hasStyles: true },
  { id: "sops", label: label.sops, icon: "steps", group: groups.work, hasStyles: true },
  { id: "scheduler", label: label.scheduler, icon: "clock", group: groups.work, hasStyles: true },
  { id: "recordings", label: label.recordings, icon: "record", group: groups.work, hasStyles: true },
  { id: "memory", label: label.memory, icon: "memory", group: groups.mind, hasStyles: true },
  { id: "channels", label: label.channels, icon: "send", group: groups.system },
  { id: "usage", label: label.usage, icon: "coins", group: groups.system, hasStyles: true },
  { id: "features", label: label.features, icon: "switches", group: groups.system, hasStyles: true },
  { id: "config", label: label.config, icon: "sliders", group: groups.system, hasStyles: true },
  { id: "logs", label: label.logs, icon: "list", group: groups.system, hasStyles: true },
];

/** @param {string} id @returns {Panel | undefined} */
export const panelOf = (id) => panels.find((panel) => panel.id === id);
