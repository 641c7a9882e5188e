// The chat page: builds the frame once, opens the conversation named in the address, and connects the parts.

import { takeCode, useCode } from "../shared/sign-in-code.js";
import { phoneWords } from "../texts/phone.js";
import { rowMenu } from "../shared/menu.js";
import { install } from "../shared/installed.js";
import { renew } from "../shared/push.js";
import { Problem, optionalPath, request } from "../shared/api.js";
import { connectionBanner } from "../shared/banner.js";
import { iconButton, note } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { pause } from "../shared/pause.js";
import { statusPath } from "../shared/status-path.js";
import { keepTimes, prepareFormats } from "../shared/time.js";
import { toast, toastRegion } from "../shared/toast.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { findingWords } from "../texts/finding.js";
import { forkWords } from "../texts/forks.js";
import { modelWords } from "../texts/models.js";
import { temporaryWords } from "../texts/temporary.js";
import { Announcer } from "./announcer.js";
import { countAfter } from "./branch.js";
import { showUnread } from "./app-badge.js";
import { Choices } from "./choices.js";
import { commandsFor, menuFor } from "./commands.js";
import { Composer } from "./composer.js";
import { acceptDrops } from "./drop.js";
import { Finding } from "./finding.js";
import { listenForShortcuts, openHelp } from "./help.js";
import { ModelSetup } from "./model-setup.js";
import { newsOf, notify, tell } from "./news.js";
import { Outbox, sessionStorageOrNull } from "./outbox.js";
import { currentMessage, currentName, freshName, hrefOf, isTemporary, rememberName, temporaryName } from "./route.js";
import { RunningCommands } from "./running-commands.js";
import { Session } from "./session.js";
import { Sidebar } from "./sidebar.js";
import { fits } from "./size.js";
import { loadFailed, signInState } from "./states.js";
import { TemporaryNote, endOnLeaving, endTemporary, renewTemporary } from "./temporary.js";
import { Transcript } from "./transcript.js";
import { isCommand, openApproval } from "./turn.js";
import { modelMissing, welcome } from "./welcome.js";

/** @import { TurnFrame } from "../wire/frames.js" */
/** @import { Link } from "./socket.js" */
/** @import { Attachment, SessionNews, Turn } from "./types.js" */
/** @import { Status } from "../wire/api.js" */

/** Matches where the list of conversations is a drawer. */
const narrow = matchMedia("(width <= 780px)");
const finePointer = matchMedia("(pointer: fine)");

class ChatPage {
  #announcer = new Announcer();
  #outbox = new Outbox(sessionStorageOrNull());
  #sidebar = new Sidebar({
    newChat: () => this.#newChat(),
    newTemporary: () => this.#newChat(temporaryName()),
    close: () => this.#setDrawer(false),
    help: openHelp,
    removed: (name) => name === this.#session?.name && this.#newChat(),
    listed: () => this.#listed(),
    denied: () => this.#deny(),
    visit: () => this.#visit(),
  });
  #transcript = new Transcript(
    {
      decide: (id, decision, terms) => void this.#session?.decide(id, decision, terms),
      retry: (turn) => void this.#branch(turn, "retry"),
      edit: (turn, text, files) => this.#branch(turn, "edit", text, files),
      withdraw: (turn) => this.#session?.withdraw(turn),
      reclaim: (turn) => {
        if (this.#session?.withdraw(turn)) this.#composer.putBack(turn.said?.text ?? "", turn.said?.files ?? []);
      },
      fork: (turn) => void this.#fork(turn),
      files: (turn) => this.#session?.files.since(turn) ?? null,
      sendAgain: (turn) => this.#session?.sendAgain(turn),
      discard: (turn) => this.#session?.discard(turn),
      choose: (turn) => void this.#choose(turn),
      isOnline: () => this.#isOnline,
    },
    () => this.#loadOlder(),
  );
  #finding = new Finding({ session: () => this.#session, draw: () => this.#draw(), transcript: this.#transcript });
  #composer = new Composer({
    send: (text, files) => {
      this.#transcript.goToEnd();
      this.#session?.send(text, files, this.#choiceToSend());
    },
    choose: (choice) => {
      if (this.#session) this.#choices.choose(this.#session.name, choice, this.#session.isStored);
    },
    stop: () => this.#session?.stop(),
    editLast: () => this.#editLast(),
    commands: () => this.#commands(),
  });
  #choices = new Choices(
    (name) => name === this.#session?.name && this.#composer.setChoice(this.#choices.of(name)),
    (problem) => toast(modelWords.notSaved(problem.message)),
  );
  #banner = connectionBanner({ retry: () => this.#session?.retryNow(), leave: () => this.#rest() });
  #setup = new ModelSetup((sentence) => {
    toast(sentence);
    void this.#askStatus().then(() => this.#rest());
  });
  #title = make("h1", { dir: "auto" });
  #drawerButton = iconButton({
    label: texts.sidebar.open,
    icon: "menu",
    look: "drawer-button",
    press: () => this.#setDrawer(true),
  });
  #temporary = new TemporaryNote();
  #running = new RunningCommands(() => this.#rest());
  #notice = make("div", { role: "status" });
  #dock = make("div", { class: "dock" });
  #main = make("main", { class: "conversation", id: "main" });
  #frame = make("div", { class: "chat" });
  #skip = make("a", { class: "skip-link", href: "#message" }, texts.skip);
  /** @type {Session | null} */ #session = null;
  /** @type {Status | null} */ #status = null;
  /** @type {{turn: Turn, frame: TurnFrame}[]} Frames since the last drawing. */ #undrawnFrames = [];
  /** @type {Problem | null} */ #problem = null;
  #isDenied = false;
  /** Whether the open conversation was deleted elsewhere. */ #isGone = false;
  /** @type {Set<string>} Names created during this visit. */ #fresh = new Set();
  #isOnline = false;
  #isListed = false;
  /** Whether the first answers are on their way, which a first connection need not ask for again. */ #isEntering = false;
  /** How often the connection was refused since it was open last. */ #refusals = 0;
  #isDrawPlanned = false;
  /** The state for which the welcome was drawn. */ #welcomeFor = "";

  /** Starts step by step, because together the steps would block a phone for too long. */
  async start() {
    this.#build();
    await pause();
    keepTimes();
    // Puts the name into the address, so that the back button returns here.
    if (!location.hash) history.replaceState(null, "", hrefOf(currentName()));
    renewTemporary(this.#outbox, this.#fresh);
    endOnLeaving(() => this.#session);
    addEventListener("hashchange", () => this.#visit());
    narrow.addEventListener("change", () => this.#setDrawer(false));
    document.addEventListener("visibilitychange", () => {
      this.#session?.tellSight();
      if (document.hidden || this.#isDenied) return;
      void this.#sidebar.refresh();
      this.#seen();
    });
    document.addEventListener("keydown", (event) => this.#finding.takeShortcut(event));
    listenForShortcuts({
      stop: () => this.#session?.stop() ?? false,
      closeDrawer: () => this.#setDrawer(false),
      search: () => {
        this.#setDrawer(true);
        this.#sidebar.focusSearch();
      },
      newChat: () => this.#newChat(),
      write: () => this.#composer.focus(),
      toEnd: () => this.#transcript.goToEnd(),
    });
    void this.#enter();
    await prepareFormats();
  }

  #build() {
    this.#drawerButton.setAttribute("aria-controls", "sidebar");
    this.#drawerButton.setAttribute("aria-expanded", "false");
    const hint = make("p", { class: "composer-hint" }, texts.composer.hint);
    this.#dock.append(this.#transcript.toEnd, this.#notice, this.#running.element, this.#composer.element, hint);
    this.#main.append(
      make(
        "header",
        { class: "topbar" },
        this.#drawerButton,
        this.#title,
        rowMenu(findingWords.menu, () => menuFor(this.#session, this.#finding)),
        iconButton({ label: texts.sidebar.newChat, icon: "plus", look: "drawer-button", press: () => this.#newChat() }),
      ),
      this.#banner.element,
      this.#temporary.element,
      this.#finding.bar.element,
      this.#transcript.element,
      this.#dock,
    );
    this.#frame.append(
      this.#sidebar.element,
      make("div", { class: "scrim", on: { click: () => this.#setDrawer(false) } }),
      this.#main,
    );
    document.body.append(this.#skip, this.#frame, this.#announcer.element, toastRegion());
    this.#skip.addEventListener("click", (event) => {
      event.preventDefault();
      this.#composer.focus();
    });
    acceptDrops(this.#main, (files) => !this.#isDenied && void this.#composer.attach(files));
  }

  /** Opens the conversation, and asks for the status. The list follows once the connection brings its news. */
  async #enter() {
    this.#isEntering = true;
    this.#visit();
    await this.#askStatus();
    this.#isEntering = false;
  }

  async #askStatus() {
    try {
      const status = await request(statusPath);
      this.#status = status;
      this.#composer.offerDictation(status.transcription);
      this.#composer.setModel(status.model_ready === false ? "" : (status.model ?? ""));
      void install().then(renew);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) this.#deny();
    }
    this.#plan();
  }

  /** Shows what the address names. */
  #visit() {
    this.#open(currentName());
    if (currentMessage()) this.#setDrawer(false);
    this.#finding.visit(currentMessage());
  }

  /** @param {string} name */
  #open(name) {
    if (this.#session?.name === name || this.#isDenied) return;
    this.#session?.close();
    endTemporary(this.#session, this.#outbox);
    this.#temporary.show(name);
    this.#problem = null;
    this.#isGone = false;
    this.#undrawnFrames = [];
    this.#finding.reset();
    this.#transcript.clear();
    this.#transcript.showSkeleton();
    this.#composer.switchTo(name);
    this.#composer.setChoice(this.#choices.of(name));
    this.#sidebar.setCurrent(name);
    this.#setDrawer(false);
    rememberName(name);
    const session = new Session(
      name,
      this.#outbox,
      {
        changed: () => this.#plan(),
        link: (link) => this.#linkChanged(link),
        loaded: () => {
          this.#problem = null;
          this.#choices.learn(name, session.conversation.settings);
          this.#transcript.retryOlder();
          this.#seen();
          void this.#finding.reach();
        },
        failed: (problem) => this.#failed(problem),
        accepted: () => this.#accepted(),
        hasTranscripts: () => !this.#sidebar.isOff,
        onFrame: (turn, frame) => {
          if (frame.type !== "delta") this.#undrawnFrames.push({ turn, frame });
        },
        watching: () => void this.#sidebar.refresh(),
        news: (frame) => this.#hear(frame),
        onNotice: (text) => toast(text),
      },
      this.#fresh.has(name),
    );
    this.#session = session;
    if (finePointer.matches) this.#composer.focus();
    this.#plan();
  }

  /** A conversation changed, here or on another device. @param {SessionNews} frame */
  #hear(frame) {
    const before = this.#sidebar.take(frame);
    const isOpen = frame.session_id === `webchat:${this.#session?.name}`;
    if (isOpen && this.#session && !("removed" in frame)) this.#choices.learn(this.#session.name, frame);
    const kind = newsOf(before, frame);
    if (!("removed" in frame) && kind && !(isOpen && !document.hidden)) {
      const title = frame.title || texts.sidebar.untitled;
      if (!isOpen) tell(frame, title, kind);
      notify(frame, title, kind);
    }
    if (isOpen && "removed" in frame && this.#session) void this.#seekGone(true);
    this.#seen();
    this.#plan();
  }

  /** What goes with a message. Only the effort goes with each one, because other devices may show it late. */
  #choiceToSend() {
    const name = this.#session?.name ?? "";
    return { model: this.#choices.unsaved(name).model ?? undefined, effort: this.#choices.of(name).effort ?? undefined };
  }

  /** Tells the server what a person sees, so that no device shows it as unread. */
  #seen() {
    const session = this.#session;
    if (!session?.isLoaded || document.hidden || !this.#sidebar.isUnread(session.name)) return;
    if (session.markRead()) this.#sidebar.setRead(session.name);
  }

  #newChat(name = freshName()) {
    if (this.#isDenied) return;
    this.#fresh.add(name);
    location.hash = hrefOf(name);
    this.#setDrawer(false);
    this.#composer.focus();
  }

  /** @param {boolean} isOpen @returns {boolean} whether anything changed */
  #setDrawer(isOpen) {
    const wasOpen = this.#frame.classList.contains("drawer-open");
    // On a wide page the list is always visible, and nothing opens.
    const opens = isOpen && narrow.matches;
    if (opens === wasOpen) return false;
    this.#frame.classList.toggle("drawer-open", opens);
    this.#main.inert = opens;
    this.#drawerButton.setAttribute("aria-expanded", String(opens));
    if (opens) this.#sidebar.focusFirst();
    else this.#drawerButton.focus();
    return true;
  }

  /** @param {Link} link */
  #linkChanged(link) {
    const wasOnline = this.#isOnline;
    this.#isOnline = link.phase === "open";
    if (this.#isOnline) this.#refusals = 0;
    if (link.phase === "refused") void this.#refused(link);
    else if (this.#refusals === 0) this.#banner.show(link);
    this.#main.classList.toggle("is-stale", link.phase === "waiting" || link.phase === "refused");
    if (this.#isOnline && !wasOnline && !this.#isEntering) void this.#askStatus();
    // A failure of the first attempt may mean that the token is required. The list may be there all the same.
    if (link.phase === "waiting" && !wasOnline) {
      void this.#askStatus();
      this.#listAnyway();
    }
    this.#plan();
  }

  /**
   * A connection was refused: for want of a sign-in, which the status tells, because of a cookie that another window has renewed
   * since, or, if it is refused again, because of the address of the page.
   * @param {Link} link
   */
  async #refused(link) {
    const session = this.#session;
    this.#refusals += 1;
    await this.#askStatus();
    if (this.#isDenied || session !== this.#session) return;
    if (this.#refusals > 1) {
      this.#banner.show(link);
      this.#listAnyway();
    } else session?.retryNow();
  }

  /** Asks for the list of conversations without a connection, which would have brought it. */
  #listAnyway() {
    if (!this.#isListed) void this.#sidebar.refresh();
  }

  /** @param {Problem} problem */
  #failed(problem) {
    if (problem.status === 401) this.#deny();
    else this.#problem = problem;
  }

  /** Shows the token prompt in the page. */
  #deny() {
    if (this.#isDenied) return;
    this.#isDenied = true;
    this.#session?.close();
    this.#session = null;
    this.#composer.hush();
    this.#banner.hide();
    this.#main.classList.remove("is-stale");
    this.#dock.hidden = true;
    this.#frame.classList.add("is-denied");
    this.#sidebar.clear();
    this.#isListed = false;
    this.#skip.hidden = true;
    this.#title.textContent = texts.signIn.title;
    const { element, focus } = signInState(() => this.#admit());
    this.#transcript.showInstead(element);
    focus();
  }

  #admit() {
    this.#isDenied = false;
    this.#refusals = 0;
    this.#dock.hidden = false;
    this.#frame.classList.remove("is-denied");
    this.#skip.hidden = false;
    void this.#enter();
  }

  /**
   * Retries a turn, or answers it from an edited message. What followed is kept with the version that this replaces.
   * @param {Turn} turn @param {"retry" | "edit"} kind @param {string} [text] @param {Attachment[]} [files]
   * @returns {Promise<boolean>} whether it was sent
   */
  async #branch(turn, kind, text, files) {
    const session = this.#session;
    if (!session) return false;
    if (text !== undefined && !fits(text, files ?? [])) {
      toast(texts.composer.tooLong);
      return false;
    }
    const after = countAfter(session.conversation.turns(), turn);
    if (!session.branch(turn, kind, text, files)) return false;
    if (after > 0) toast(forkWords.setAside(after));
    // The button that was pressed disappears with the replaced turn.
    this.#rest();
    return true;
  }

  /** @param {Turn} turn */
  async #fork(turn) {
    const session = this.#session;
    try {
      const name = await session?.fork(turn);
      if (!name || session !== this.#session) return;
      location.hash = hrefOf(name);
      toast(forkWords.done);
    } catch (problem) {
      toast(forkWords.failed(/** @type {Error} */ (problem).message));
    }
  }

  /** Shows another version of an answer or a question. @param {string} id its turn */
  async #choose(id) {
    const session = this.#session;
    if (!session || !(await session.choose(id)) || session !== this.#session) return;
    this.#draw();
    const turn = session.conversation.turn(id);
    if (turn) this.#transcript.view(turn)?.focusVersions();
  }

  /** Moves the focus from a removed control. On touch devices not into the message box, which would open the keyboard. */
  #rest() {
    if (finePointer.matches) this.#composer.focus();
    else if (!this.#composer.hasFocus) this.#transcript.focus();
  }

  /** What the slash menu offers besides prompts and SOPs. */
  #commands() {
    return commandsFor({
      session: () => this.#session,
      newChat: () => this.#newChat(),
      newTemporary: () => this.#newChat(temporaryName()),
      retry: (turn) => void this.#branch(turn, "retry"),
      editLast: () => this.#editLast(),
      chooseModel: () => this.#composer.chooseModel(),
      find: () => this.#finding.bar.open(),
      promptsChanged: () => this.#composer.promptsChanged(),
    });
  }

  async #loadOlder() {
    const hasMore = (await this.#session?.loadOlder()) ?? false;
    if (hasMore) this.#draw();
    return hasMore;
  }

  #editLast() {
    const last = this.#session?.conversation.turns().findLast((turn) => turn.id && turn.said && turn.state === "done" && !isCommand(turn));
    if (last) this.#transcript.edit(last);
  }

  /** A message was accepted: the list changes, and a deleted conversation starts over. */
  #accepted() {
    if (this.#session) {
      this.#fresh.delete(this.#session.name);
      void this.#choices.save(this.#session.name);
    }
    if (this.#isGone) void this.#session?.synchronise();
    this.#isGone = false;
  }

  #listed() {
    this.#isListed = true;
    this.#plan();
    this.#seen();
    if (this.#session && this.#sidebar.misses(this.#session.name)) void this.#seekGone();
  }

  /** Checks whether the open conversation was deleted elsewhere. @param {boolean} [isTold] whether the server says so */
  async #seekGone(isTold = false) {
    const session = this.#session;
    // Without a stored turn there is nothing that could have been deleted.
    if (!session || isTemporary(session.name) || this.#isGone || !this.#isOnline || this.#sidebar.isOff) return;
    if (!isTold && !session.conversation.turns().some((turn) => turn.id && turn.state === "done")) return;
    try {
      const { session_id: id } = await request(optionalPath(session.name, { limit: 1 }));
      if (id || session !== this.#session) return;
    } catch {
      return;
    }
    this.#isGone = true;
    this.#plan();
  }

  /** Schedules a drawing before the next frame, combining changes. */
  #plan() {
    if (this.#isDrawPlanned) return;
    this.#isDrawPlanned = true;
    const draw = () => {
      this.#isDrawPlanned = false;
      this.#draw();
    };
    if (document.hidden) setTimeout(draw, 200);
    else requestAnimationFrame(draw);
  }

  #draw() {
    const session = this.#session;
    if (!session || this.#isDenied) return;
    const turns = session.conversation.turns();
    this.#transcript.setNote(this.#sidebar.isOff ? texts.error.history : "");
    if (turns.length > 0) this.#transcript.show(turns, session.conversation.hasOlder);
    else if (this.#problem) this.#transcript.showInstead(loadFailed(this.#problem, () => void session.synchronise()));
    else if (session.isLoaded) this.#showWelcome();
    this.#composer.follow(turns, session.conversation.unfinished().length > 0);
    this.#drawNotice(turns);
    this.#running.draw(session);
    this.#drawTitle();
    this.#announce();
  }

  /** Announces the new content, now that it is on the page. */
  #announce() {
    const frames = this.#undrawnFrames;
    this.#undrawnFrames = [];
    for (const { turn, frame } of frames) {
      this.#announcer.follow(turn, frame, (index) => this.#transcript.view(turn)?.block(index));
    }
  }

  #showWelcome() {
    // The form in it keeps its place and its focus while only the time passes.
    const now = `${JSON.stringify({ ...this.#status, uptime_seconds: 0 })} ${this.#sidebar.isOff}`;
    if (this.#welcomeFor === now && document.querySelector(".welcome")) return;
    this.#welcomeFor = now;
    this.#setup.setHint(this.#status?.demo ? "" : (this.#status?.model_hint ?? ""));
    this.#transcript.showInstead(
      welcome(
        this.#status,
        (text) => this.#composer.write(text),
        this.#sidebar.isOff ? texts.error.history : "",
        // Without the dashboard, no route sets anything up.
        this.#sidebar.isOff ? null : this.#setup.element,
      ),
    );
  }

  /** @param {Turn[]} turns */
  #drawNotice(turns) {
    // The failure of the last turn already says so.
    const isToldOfModel = turns.length === 0 || turns.at(-1)?.failure?.code === "auth";
    const isMissing = this.#status?.model_ready === false && !isToldOfModel;
    const notice = this.#isGone
      ? note({ text: texts.session.gone, tone: "warn", icon: "trash" })
      : isMissing
        ? modelMissing(this.#status)
        : null;
    const there = this.#notice.firstChild;
    if (notice ? !there?.isEqualNode(notice) : there) this.#notice.replaceChildren(...(notice ? [notice] : []));
  }

  #drawTitle() {
    const session = this.#session;
    if (!session) return;
    // The browser keeps titles of pages.
    const named = this.#sidebar.title(session.name) || session.conversation.title || texts.sidebar.untitled;
    const shown = isTemporary(session.name) ? temporaryWords.title : named;
    const title = visibleText(shown);
    if (this.#title.textContent !== title) fill(this.#title, ...visible(shown));
    const waits = session.conversation.unfinished().some(openApproval);
    const elsewhere = this.#sidebar.elsewhere();
    const name = waits || elsewhere.waits ? texts.approval.titleMark : title;
    showUnread(name, elsewhere.unread);
  }
}

/** Starts the page, after a sign-in by a code if the address has one. */
async function start() {
  const code = takeCode();
  const isUsed = !code || (await useCode(code));
  await pause();
  const page = new ChatPage();
  await pause();
  await page.start();
  if (!isUsed) toast(phoneWords.codeIsOver);
}

void start();
