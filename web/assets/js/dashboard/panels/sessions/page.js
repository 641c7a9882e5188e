// One conversation to read: its facts, its messages (older ones on demand), and the actions on it. New messages appear while it
// is open.

import { messageElements } from "../../../components/transcript.js";
import { errorState, keepToolsPlace, staleNote, state } from "../../../components/state.js";
import { badge, button, iconButton, skeleton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { menuOn } from "../../../shared/menu.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { sessionWords as words } from "../../../texts/sessions.js";
import { shell } from "../../../texts/shell.js";
import { hrefOf } from "../../route.js";
import { chatHref, conversationPath, sessionMenu, titleOf } from "../../session-actions.js";

/** @import { Problem } from "../../../shared/api.js" */
/** @import { Conversation, Message, Session } from "../../../wire/api.js" */

const PAGE = 60;

/** @param {import("../../context.js").Context} context @param {string} id */
export function sessionPage(context, id) {
  const facts = make("div", { class: "session-facts" });
  const aside = make("div", { role: "status" });
  const older = button({ label: words.older, look: "button-small", press: () => void loadOlder() });
  const head = make("div", { class: "table-foot", hidden: true }, older);
  const list = make("div", { class: "transcript-read" }, skeleton(8));
  const waits = make("div", {});
  const element = make("div", { class: "region" }, facts, aside, head, list, waits);
  /** @type {Map<string, Message>} */ const messages = new Map();
  let session = /** @type {Conversation | null} */ (null);
  let at = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let planned;
  context.title(id, hrefOf("sessions"));
  keepToolsPlace(context);

  const draw = () => {
    const inOrder = [...messages.values()].sort((one, other) => Number(one.id) - Number(other.id));
    const shown = messageElements(inOrder);
    // Expanded parts stay expanded.
    const open = new Set([...list.querySelectorAll("details[open]")].map((fold) => placeOf(fold)));
    fill(
      list,
      ...(shown.length > 0 ? shown : [state({ icon: "chat", title: words.noMessages, text: words.noMessagesHint })]),
    );
    if (open.size > 0)
      for (const fold of list.querySelectorAll("details")) if (open.has(placeOf(fold))) fold.open = true;
  };
  const placeOf = (/** @type {Element} */ fold) => {
    const all = [...list.querySelectorAll("details")];
    return (
      all.length -
      all.indexOf(/** @type {HTMLDetailsElement} */ (fold)) +
      (fold.querySelector(".fold-name")?.textContent ?? "")
    );
  };

  const take = (/** @type {Conversation} */ answer, isOlder = false) => {
    const current = isOlder && session ? session : answer;
    session = current;
    const before = JSON.stringify([...messages.keys()]);
    // The session was cleared meanwhile.
    if (!isOlder && answer.message_count < messages.size) messages.clear();
    for (const message of answer.messages ?? []) messages.set(message.id, message);
    at = Date.now();
    fill(aside);
    if (isOlder || messages.size <= PAGE) head.hidden = !answer.has_more;
    showFacts(context, facts, current, { changed: () => void load(), gone: () => context.go([]) });
    fill(
      waits,
      ...(current.pending ?? []).map((pending) =>
        make(
          "article",
          { class: "said-entry", data: { role: "user" } },
          make("header", {}, badge(words.pending, "accent", "clock")),
          make("p", { class: "said-words" }, ...visible(pending.text ?? "")),
        ),
      ),
    );
    if (before !== JSON.stringify([...messages.keys()]) || messages.size === 0) draw();
  };

  const load = async () => {
    clearTimeout(planned);
    planned = undefined;
    try {
      const answer = await context.request(conversationPath(id, `limit=${PAGE}`));
      if (!context.signal.aborted) take(answer);
    } catch (problem) {
      if (!context.signal.aborted) failed(/** @type {Problem} */ (problem));
    }
  };

  const failed = (/** @type {Problem} */ problem) => {
    if (problem.status === 404) {
      head.hidden = true;
      fill(facts);
      fill(waits);
      fill(context.tools);
      fill(
        list,
        state({
          icon: "search",
          title: words.missingTitle,
          text: words.missing,
          action: make("a", { class: "button", href: hrefOf("sessions") }, words.toList),
        }),
      );
    } else if (session)
      fill(
        aside,
        staleNote(problem.message, at, () => void load()),
      );
    else
      fill(
        list,
        errorState({
          title: words.transcriptFailed,
          text: problem.message,
          action: button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void load() }),
        }),
      );
  };

  const loadOlder = async () => {
    const first = Math.min(...[...messages.keys()].map(Number));
    const height = document.documentElement.scrollHeight;
    try {
      take(await context.request(conversationPath(id, `limit=${PAGE}&before=${first}`)), true);
      // Keeps the text in view where it is.
      scrollBy(0, document.documentElement.scrollHeight - height);
    } catch (problem) {
      failed(/** @type {Problem} */ (problem));
    }
  };

  const soon = () => {
    planned ??= setTimeout(() => void load(), 400);
  };
  context.signal.addEventListener("abort", () => clearTimeout(planned));
  void load();
  return {
    element,
    refresh: soon,
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic, data]) =>
      (topic === "sessions" || topic === "messages") && data.session_id === id && soon(),
  };
}

/**
 * @param {import("../../context.js").Context} context @param {HTMLElement} facts @param {Session} session
 * @param {{changed: () => void, gone: () => void}} after
 */
function showFacts(context, facts, session, after) {
  context.title(titleOf(session), hrefOf("sessions"));
  const pieces = [
    session.busy && badge(words.busy, "accent", "clock"),
    badge(visibleText(session.channel)),
    make("span", {}, words.messages(session.message_count)),
    session.sender && make("span", {}, `${words.from} `, ...visible(session.sender)),
    session.agent_name && make("span", {}, `${words.agent}: `, ...visible(session.agent_name)),
    session.created_at && make("span", {}, `${words.began} `, timeElement(session.created_at)),
    make("span", { class: "mono session-id" }, ...visible(session.session_id)),
  ];
  fill(facts, ...pieces);
  const says = JSON.stringify([session.title, session.busy, session.session_id]);
  if (context.tools.dataset.says === says && context.tools.childElementCount > 0) return;
  context.tools.dataset.says = says;
  const href = chatHref(session);
  const more = iconButton({ label: words.more, icon: "more" });
  menuOn(more, () => sessionMenu(context, session, after).filter(({ label }) => label !== words.continue));
  fill(context.tools, href && make("a", { class: "button button-primary", href }, icon("chat"), words.continue), more);
}
