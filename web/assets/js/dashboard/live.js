// What happens now, over the dashboard's socket: a state of the connection, and a call for each event of a topic.

import { delayBefore } from "../shared/backoff.js";

/** @typedef {"connecting" | "open" | "waiting"} LiveState */

export class Live {
  /** @type {LiveState} */ state = "connecting";
  #topics;
  #hear;
  #attempt = 0;

  /**
   * @param {string[]} topics
   * @param {(topic: string, data: any) => void} hear also called with topic "link" when the connection changes
   */
  constructor(topics, hear) {
    this.#topics = topics;
    this.#hear = hear;
    this.#connect();
  }

  #connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/dashboard`);
    socket.onopen = () => {
      socket.send(JSON.stringify({ channel: "subscribe", topics: this.#topics }));
      this.#change("open");
    };
    socket.onmessage = ({ data }) => {
      try {
        const event = JSON.parse(data);
        if (typeof event.channel === "string") {
          this.#attempt = 0;
          this.#hear(event.channel, event.data);
        }
      } catch {
        // What cannot be read says nothing.
      }
    };
    socket.onclose = () => {
      this.#change("waiting");
      setTimeout(() => this.#connect(), delayBefore(this.#attempt));
      this.#attempt += 1;
    };
  }

  /** @param {LiveState} state */
  #change(state) {
    this.state = state;
    this.#hear("link", state);
  }
}
