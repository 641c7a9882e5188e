// The JSON API client. Every answer is data or a `Problem` with a message that users can act on.

import { at } from "./base.js";
import { texts } from "../texts.js";
import { learn } from "./clock.js";
import { takeEarly } from "./early.js";
import { language } from "./language.js";

/** @import { ConfigEdited, Conversation, Session, Problem as WireProblem } from "../wire/api.js" */

/**
 * A path that knows the type of its answer, as its declaration says: a constant of the type `Path<Status>`, a function that returns
 * a `Path<Session>`. What any other string answers is unknown. Of a path that answers a change with something else than itself, only
 * reading is typed.
 * @template [Answer=unknown]
 * @typedef {string & {readonly answer?: Answer}} Path
 *
 * What the server may say about why it refused; `current` is what stands there now, `change` what the change would have been.
 * @typedef {Partial<WireProblem> & {current?: unknown, change?: ConfigEdited, keys?: string[]}} Refusal
 */

/** Why a request failed. `status` 0 means that there was no answer. */
export class Problem extends Error {
  /** The errors by field of the request. @type {{field: string, message: string}[]} */ errors = [];
  /** What else the server says, if it is JSON. @type {Refusal | null} */ document = null;
  /** The version of what stands there now, if the answer names it. */ etag = "";

  /** @param {number} status @param {string} message @param {string} [code] @param {string} [retryAfter] */
  constructor(status, message, code = "", retryAfter = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * `body` is sent as JSON, `file` as it is. With `keepalive` the request goes on when the page is left.
 * @typedef {{method?: string, body?: unknown, file?: Blob, headers?: Record<string, string>, signal?: AbortSignal,
 *   keepalive?: boolean}} Options
 */

/**
 * Sends a request to the server, and returns its JSON.
 * @template [Answer=unknown]
 * @param {Path<Answer>} path @param {Options} [options] @returns {Promise<NoInfer<Answer>>}
 */
export const request = async (path, options) => (await exchange(path, options)).data;

/**
 * The same, with the version of the answer.
 * @template [Answer=unknown]
 * @param {Path<Answer>} path @param {Options} [options] @returns {Promise<{data: NoInfer<Answer>, etag: string}>}
 */
export async function exchange(path, { method = "GET", body, file, headers: more, signal, keepalive } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (file) headers["Content-Type"] = file.type;
  let response;
  try {
    const payload = file ?? (body === undefined ? undefined : JSON.stringify(body));
    response = await ((method === "GET" && takeEarly(path)) ||
      fetch(at(path), { method, headers, body: payload, keepalive, signal: signal ?? AbortSignal.timeout(20000) }));
  } catch (cause) {
    throw new Problem(0, texts.error.unreachable, cause instanceof DOMException ? cause.name : "network");
  }
  learn(response.headers.get("Date"));
  const text = await response.text();
  const data = parse(text);
  const etag = response.headers.get("ETag") ?? "";
  if (response.ok) return { data: /** @type {Answer} */ (data ?? {}), etag };
  const refusal = /** @type {Refusal | null} */ (data);
  const message = sentenceOf(refusal);
  const problem = new Problem(response.status, message, refusal?.code, response.headers.get("Retry-After") ?? "");
  if (Array.isArray(refusal?.errors)) problem.errors = refusal.errors;
  problem.document = refusal;
  problem.etag = etag;
  throw problem;
}

/**
 * What went wrong: in English by the server, in another language by the page, which knows the most frequent reasons.
 * @param {Refusal | null} data
 * @returns {string}
 */
function sentenceOf(data) {
  const own = texts.problems[data?.code ?? ""];
  return (language !== "en" && own) || data?.detail || own || data?.title || texts.error.server;
}

/**
 * The page of a list that begins at a cursor.
 * @template [Answer=unknown] @param {Path<Answer>} path that of the first page, with a query @param {string} cursor
 * @returns {Path<Answer>}
 */
export const pageAt = (path, cursor) => `${path}&cursor=${encodeURIComponent(cursor)}`;

/** @param {string} name @returns {Path<Session>} */
export const sessionPath = (name) => `/api/sessions/${encodeURIComponent(`webchat:${name}`)}`;

/**
 * A conversation of the web chat with those of its messages that the query asks for.
 * @param {string} name @param {Record<string, string | number>} query @returns {Path<Conversation>}
 */
export const conversationPath = (name, query) =>
  `${sessionPath(name)}?${new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]))}`;

/**
 * The same, with an answer that says nothing if there is no such conversation.
 * @param {string} name @param {Record<string, string | number>} query @returns {Path<Partial<Conversation>>}
 */
export const optionalPath = (name, query) => conversationPath(name, { ...query, optional: "true" });

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
