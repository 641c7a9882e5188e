// Live events over the dashboard's socket: the state of the connection, and a call for each event of a topic.

import { socketAt } from "../shared/base.js";
import { delayBefore } from "../shared/backoff.js";

/** @import { Link } from "../shared/banner.js" */
/** @import { DashboardFrame, DashboardRequest } from "../wire/frames.js" */
/** @import { LiveEvent } from "./panels.js" */

/** News, a change of the connection, or that the server declined it. @typedef {LiveEvent | [topic: "link", data: Link] | [topic: "refused", data: null]} Heard */

export const topics = [
  "messages",
  "sessions",
  "agents",
  "telemetry",
  "logs",
  "approvals",
  "scheduler",
  "recordings",
  "usage",
  "config",
];

export class Live {
  /** @type {Link} */ link = { phase: "connecting" };
  #topics;
  #onEvent;
  #attempt = 0;
  /** @type {WebSocket | undefined} */ #socket;
  /** @type {ReturnType<typeof setTimeout> | undefined} Runs until the next attempt. */ #timer;

  /**
   * @param {string[]} topics
   * @param {(...heard: Heard) => void} onEvent
   */
  constructor(topics, onEvent) {
    this.#topics = topics;
    this.#onEvent = onEvent;
    this.#connect();
    addEventListener("online", () => this.retryNow());
    // A device that slept finds its connection dead, and does not wait for the next attempt.
    document.addEventListener("visibilitychange", () => {
      this.#tellSight();
      if (!document.hidden) this.retryNow();
    });
  }

  /** Starts the next attempt at once. */
  retryNow() {
    if (this.#timer) this.#connect();
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const socket = new WebSocket(socketAt("/ws/dashboard"));
    this.#socket = socket;
    socket.onopen = () => {
      this.#ask({ channel: "subscribe", topics: this.#topics });
      this.#tellSight();
      this.#change({ phase: "open" });
    };
    socket.onmessage = ({ data }) => {
      try {
        /** @type {DashboardFrame} */
        const event = JSON.parse(data);
        if (typeof event.channel === "string") {
          this.#attempt = 0;
          this.#onEvent(.../** @type {LiveEvent} */ ([event.channel, event.data]));
        }
      } catch {
        // An unreadable frame is ignored.
      }
    };
    socket.onclose = ({ code }) => {
      const delay = delayBefore(this.#attempt);
      this.#attempt += 1;
      this.#timer = setTimeout(() => this.#connect(), delay);
      if (code === 1008) this.#onEvent("refused", null);
      this.#change({ phase: "waiting", until: Date.now() + delay, away: code === 1001 || code === 1012 });
    };
  }

  /** Tells the server whether this page is in sight, so that it notifies devices only of what is not. */
  #tellSight() {
    this.#ask({ channel: "visible", visible: document.visibilityState === "visible" });
  }

  /** @param {DashboardRequest} wish */
  #ask(wish) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(wish));
  }

  /** @param {Link} link */
  #change(link) {
    this.link = link;
    this.#onEvent("link", link);
  }
}
