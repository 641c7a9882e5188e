// The JSON API client. Every answer is data or a `Problem` with a message that users can act on.

import { texts } from "../texts.js";
import { takeEarly } from "./early.js";

/** Why a request failed. `status` 0 means that there was no answer. */
export class Problem extends Error {
  /** The errors by field of the request. @type {{field: string, message: string}[]} */ errors = [];
  /** What else the server says. @type {any} */ document = null;

  /** @param {number} status @param {string} message @param {string} [code] @param {string} [retryAfter] */
  constructor(status, message, code = "", retryAfter = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * Sends a request to the server, and returns its JSON.
 * @param {string} path
 * @param {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function request(path, { method = "GET", body, headers: more, signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    response = await ((method === "GET" && takeEarly(path)) || fetch(path, { method, headers, body: payload, signal: signal ?? AbortSignal.timeout(20000) }));
  } catch (cause) {
    throw new Problem(0, texts.error.unreachable, cause instanceof DOMException ? cause.name : "network");
  }
  const text = await response.text();
  const data = parse(text);
  if (response.ok) return data ?? {};
  const message = data?.detail || data?.title || texts.error.server;
  const problem = new Problem(response.status, message, data?.code, response.headers.get("Retry-After") ?? "");
  if (Array.isArray(data?.errors)) problem.errors = data.errors;
  problem.document = data;
  throw problem;
}

/** @param {string} name */
export const sessionPath = (name) => `/api/sessions/${encodeURIComponent(`webchat:${name}`)}`;

/** @param {string} text */
function parse(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
