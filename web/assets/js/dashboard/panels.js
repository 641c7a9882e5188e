// The panels, in the order and groups of the rail. A new panel is a row here, a module `panels/ID/index.js`, its texts in
// `texts/ID.js` and, if needed, its styles in `css/panels/ID.css`. These three are loaded when the panel is first opened, except for the
// overview: most visits start there, so the page includes it.
//
// A module exports `mount(root, context)`, which fills `root` and returns what the frame may call later (`Mounted`).

import { shell } from "../texts/shell.js";

/** @import { DashboardFrame } from "../wire/frames.js" */
/** @import { Context } from "./context.js" */

/**
 * A topic of `/ws/dashboard` with its news. A function that takes both as rest parameters knows the news by the topic.
 * @typedef {{[Frame in DashboardFrame as Frame["channel"]]: [topic: Frame["channel"], data: Frame["data"]]}} ByTopic
 * @typedef {ByTopic[keyof ByTopic]} LiveEvent
 */

/**
 * The hooks of a mounted panel, all optional. `live` receives every event of `/ws/dashboard`. `refresh` is called when the
 * connection is restored or events were missed, because data may be stale; also on the page's first connection, with true,
 * because data requested before that is a moment old. `route` is called when only the rest of the address changed; without it, or
 * if it returns false, the panel is mounted again. `unmount` is called before the panel is removed; listeners on `context.signal`
 * end by themselves.
 * @typedef {{live?: (...event: LiveEvent) => void, refresh?: (isNew?: boolean) => void,
 *   route?: (parts: string[], query: URLSearchParams) => boolean | void, unmount?: () => void}} Mounted
 * @typedef {(root: HTMLElement, context: Context) => Mounted | void} Mount
 * With `hasPages`, an address below the panel's is a page of its own with a link back, rather than a drawer above the list.
 * @typedef {{id: string, label: string, icon: string, group: string, hasStyles?: boolean, hasPages?: boolean}} Panel
 */

const { panels: label, groups } = shell;

/** @type {Panel[]} */
export const panels = [
  { id: "overview", label: label.overview, icon: "gauge", group: groups.now },
  { id: "company", label: label.company, icon: "people", group: groups.now, hasStyles: true },
  { id: "monitor", label: label.monitor, icon: "pulse", group: groups.now, hasStyles: true },
  { id: "approvals", label: label.approvals, icon: "shield", group: groups.now, hasStyles: true },
  { id: "sessions", label: label.sessions, icon: "chat", group: groups.work, hasStyles: true, hasPages: true },
  { id: "agents", label: label.agents, icon: "spark", group: groups.work, hasStyles: true },
  { id: "sops", label: label.sops, icon: "steps", group: groups.work, hasStyles: true, hasPages: true },
  { id: "scheduler", label: label.scheduler, icon: "clock", group: groups.work, hasStyles: true },
  { id: "recordings", label: label.recordings, icon: "record", group: groups.work, hasStyles: true, hasPages: true },
  { id: "memory", label: label.memory, icon: "memory", group: groups.mind, hasStyles: true },
  { id: "channels", label: label.channels, icon: "send", group: groups.system, hasStyles: true },
  { id: "usage", label: label.usage, icon: "coins", group: groups.system, hasStyles: true },
  { id: "features", label: label.features, icon: "switches", group: groups.system, hasStyles: true },
  { id: "config", label: label.config, icon: "sliders", group: groups.system, hasStyles: true },
  { id: "logs", label: label.logs, icon: "list", group: groups.system, hasStyles: true },
];

/** @param {string} id @returns {Panel | undefined} */
export const panelOf = (id) => panels.find((panel) => panel.id === id);
