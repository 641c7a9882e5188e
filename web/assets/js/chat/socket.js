// The chat socket: one connection per conversation, reopened with jittered back-off until it is closed for good. The browser
// sends the cookie; no token ever appears in the address.

import { socketAt } from "../shared/base.js";
import { delayBefore } from "../shared/backoff.js";

/** @import { ClientFrame } from "../wire/frames.js" */
/** @import { ServerFrame } from "./types.js" */
/**
 * @typedef {import("../shared/banner.js").Link} Link
 * @typedef {{frame: (frame: ServerFrame) => void, opened: () => void, link: (link: Link) => void, tooLarge: () => void}} Listener
 */

export class ChatSocket {
  #url;
  #listener;
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {WebSocket | null} The connection on which the server has sent `ready`. */ #ready = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #attempt = 0;
  #isClosed = false;
  #wake = () => this.retryNow();

  /** @param {string} session @param {Listener} listener */
  constructor(session, listener) {
    this.#url = socketAt(`/ws/chat?session=${encodeURIComponent(session)}`);
    this.#listener = listener;
    addEventListener("online", this.#wake);
    document.addEventListener("visibilitychange", this.#wake);
    this.#connect();
  }

  /** Open only once the server is ready: unacknowledged messages go first, and nothing sent meanwhile overtakes them. */
  get isOpen() {
    return this.#ready !== null && this.#ready === this.#socket && this.#ready.readyState === WebSocket.OPEN;
  }

  /** @param {ClientFrame} frame @returns {boolean} whether it was passed to the connection */
  send(frame) {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(frame));
    return true;
  }

  /** Ends the wait for the next attempt. */
  retryNow() {
    if (this.#isClosed || this.#socket || document.hidden) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** Replaces a connection that has gone silent. */
  restart() {
    const socket = this.#socket;
    if (!socket) return;
    this.#forget(socket);
    socket.close();
    this.#connect();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    removeEventListener("online", this.#wake);
    document.removeEventListener("visibilitychange", this.#wake);
    if (this.#socket) {
      const socket = this.#socket;
      this.#forget(socket);
      socket.close(1000);
    }
  }

  #connect() {
    this.#listener.link({ phase: "connecting" });
    const socket = new WebSocket(this.#url, "aethon.chat.v1");
    this.#socket = socket;
    socket.onopen = () => this.#listener.opened();
    socket.onmessage = ({ data }) => {
      const frame = parse(data);
      if (!frame) return;
      if (frame.type === "ready") {
        // Only now has the connection succeeded: a refused one is opened too, and closed at once.
        this.#attempt = 0;
        this.#ready = socket;
        this.#listener.link({ phase: "open" });
      }
      this.#listener.frame(frame);
    };
    socket.onclose = ({ code }) => {
      this.#forget(socket);
      if (this.#isClosed) return;
      if (code === 1009) this.#listener.tooLarge();
      if (code === 1008) this.#listener.link({ phase: "refused" });
      else this.#wait(code === 1001 || code === 1012);
    };
  }

  /** @param {boolean} away */
  #wait(away) {
    const delay = delayBefore(this.#attempt);
    this.#attempt += 1;
    this.#timer = setTimeout(() => this.#connect(), delay);
    this.#listener.link({ phase: "waiting", until: Date.now() + delay, away });
  }

  /** @param {WebSocket} socket */
  #forget(socket) {
    socket.onopen = socket.onmessage = socket.onclose = null;
    if (this.#socket === socket) this.#socket = null;
  }
}

/** @param {unknown} data @returns {ServerFrame | null} */
function parse(data) {
  try {
    const frame = JSON.parse(String(data));
    return frame && typeof frame.type === "string" ? frame : null;
  } catch {
    return null;
  }
}
