// The preview of an artefact: a page or a picture that a model wrote, shown in the place of its code. It runs in a sealed frame
// (`frame/artefact.html`) that reaches neither this page nor the network; all that comes back from it are three signals.
//
// Loaded on demand by the chat and by the dashboard, whose scripts are separate ones. Therefore it imports nothing, and is handed
// what it needs.

/** @typedef {"html" | "svg"} Kind */
/**
 * @typedef {{figure: HTMLElement, pre: HTMLElement, button: HTMLElement, words: typeof import("../texts/artefacts.js").artefactWords,
 *   make: typeof import("../shared/dom.js").make, iconButton: typeof import("../shared/controls.js").iconButton,
 *   saveFile: typeof import("../shared/save-file.js").saveFile}} Parts
 *   the block, its code, and the button that opens the preview
 */

const address = new URL("../../frame/artefact.html", import.meta.url).href;
const lowest = 160;
const step = 40;

/** How a picture stands in its frame: whole, and in the middle. */
const around =
  "<style>html,body{height:100%;margin:0}body{display:grid;place-items:center}svg{max-width:100%;max-height:100%}</style>";

/** The page to be shown for a piece of code. @param {Kind} kind @param {string} code */
export function pageOf(kind, code) {
  if (kind === "html") return code;
  // In a page, a picture begins with its own element.
  return around + code.slice(code.search(/<svg[\s>]/i));
}

/** The name of the file for a piece of code: by its title. @param {Kind} kind @param {string} code */
export function fileName(kind, code) {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(code)?.[1] ?? "";
  const name = title.normalize("NFC").replace(/&[#\w]+;/g, " ").replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return `${name.slice(0, 60) || (kind === "svg" ? "picture" : "page")}.${kind}`;
}

export class Preview {
  #parts;
  #code = "";
  /** Whether it was opened just now. */ #isNew = false;
  /** @type {Kind} */ #kind = "html";
  /** @type {HTMLIFrameElement | null} */ #frame = null;
  #box;
  #note;
  #choice;
  #full;
  #tools;
  #edge;

  /** @param {Parts} parts */
  constructor(parts) {
    const { words, make, iconButton, figure } = (this.#parts = parts);
    const choose = (/** @type {string} */ label, /** @type {boolean} */ isCode) =>
      make("button", { type: "button", on: { click: () => this.#choose(isCode) } }, label);
    this.#choice = make(
      "div",
      { class: "segmented artefact-choice", role: "group", "aria-label": words.choice },
      choose(words.code, true),
      choose(words.preview, false),
    );
    const small = "icon-button-small";
    this.#full = iconButton({ label: words.full, icon: "expand", look: small, press: () => this.#fill(!this.#isFull) });
    const save = iconButton({ label: words.save, icon: "download", look: small, press: () => this.#save() });
    const close = iconButton({ label: words.close, icon: "close", look: small, press: () => this.close() });
    this.#tools = [this.#full, save, close];
    this.#note = make("p", { class: "artefact-note", role: "status" });
    this.#edge = make("div", {
      class: "artefact-edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "horizontal",
      "aria-label": words.height,
      "aria-valuemin": lowest,
    });
    this.#box = make("div", { class: "artefact" });
    this.#edge.addEventListener("pointerdown", (event) => this.#drag(event));
    this.#edge.addEventListener("keydown", (event) => this.#resize(event));
    figure.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#frame || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      this.#leave();
    });
  }

  get #isFull() {
    return this.#parts.figure.matches(":popover-open");
  }

  /** Opens the preview in the place of the code. @param {Kind} kind @param {string} code */
  open(kind, code) {
    const { button, figure } = this.#parts;
    if (this.#frame) return;
    button.after(this.#choice);
    button.hidden = true;
    const [fullButton, saveButton, closeButton] = this.#tools;
    this.#choice.after(fullButton, saveButton);
    figure.querySelector("figcaption")?.append(closeButton);
    figure.append(this.#box, this.#note, this.#edge);
    this.#start(kind, code);
    this.#choose(false);
    this.#measure();
    const chosen = /** @type {HTMLElement} */ (this.#choice.lastElementChild);
    chosen.focus({ preventScroll: true });
    this.#isNew = true;
  }

  /** A conversation follows its end, which may have moved the switch out of sight. */
  #reveal() {
    if (this.#isNew) this.#choice.closest("figcaption")?.scrollIntoView({ block: "nearest" });
    this.#isNew = false;
  }

  /** Shows what the code has become, if the preview is open. @param {Kind} kind @param {string} code */
  show(kind, code) {
    if (this.#frame && (code !== this.#code || kind !== this.#kind)) this.#start(kind, code);
  }

  /** Ends what runs in the frame, and shows the code. */
  close() {
    const { button, figure, pre } = this.#parts;
    if (!this.#frame) return;
    const hadFocus = figure.contains(document.activeElement);
    this.#fill(false);
    this.#frame = null;
    this.#box.replaceChildren();
    for (const part of [this.#box, this.#note, this.#edge, this.#choice, ...this.#tools]) part.remove();
    pre.hidden = false;
    button.hidden = false;
    if (hadFocus) button.focus();
  }

  /** @param {Kind} kind @param {string} code */
  #start(kind, code) {
    const { words, make } = this.#parts;
    this.#kind = kind;
    this.#code = code;
    this.#note.textContent = "";
    const frame = make("iframe", { sandbox: "allow-scripts", src: address, title: words.frame, referrerpolicy: "no-referrer" });
    const hear = (/** @type {MessageEvent} */ event) => {
      if (this.#frame !== frame || !frame.isConnected) return removeEventListener("message", hear);
      // The page within is another window, so nothing that it sends here is heard.
      if (event.source !== frame.contentWindow) return;
      const signal = event.data?.signal;
      if (signal === "ready") {
        frame.contentWindow?.postMessage({ html: pageOf(kind, code), title: words.frame }, "*");
        this.#reveal();
      }
      if (signal === "blocked") this.#note.textContent = words.blocked;
      if (signal === "escape") this.#leave();
    };
    this.#frame = frame;
    addEventListener("message", hear);
    this.#box.replaceChildren(frame);
  }

  /** @param {boolean} isCode */
  #choose(isCode) {
    const [code, preview] = this.#choice.children;
    code.setAttribute("aria-pressed", String(isCode));
    preview.setAttribute("aria-pressed", String(!isCode));
    this.#parts.pre.hidden = !isCode;
    for (const part of [this.#box, this.#note, this.#edge]) part.hidden = isCode;
  }

  /** Escape leaves the full screen, or else the preview. */
  #leave() {
    if (this.#isFull) this.#fill(false);
    else this.close();
  }

  /**
   * Fills the window. The frame must not move to another place of the document, because that would start its page anew; a popover
   * does not.
   * @param {boolean} isFull
   */
  #fill(isFull) {
    const { figure, words } = this.#parts;
    if (isFull === this.#isFull) return;
    const attributes = { popover: "manual", role: "dialog", "aria-modal": "true", "aria-label": words.frame };
    if (isFull) {
      for (const [name, value] of Object.entries(attributes)) figure.setAttribute(name, value);
      figure.showPopover();
      document.addEventListener("focusin", this.#holdFocus);
      this.#full.focus();
    } else {
      document.removeEventListener("focusin", this.#holdFocus);
      figure.hidePopover();
      for (const name of Object.keys(attributes)) figure.removeAttribute(name);
    }
    const label = isFull ? words.shrink : words.full;
    this.#full.setAttribute("aria-label", label);
    this.#full.title = label;
    this.#full.setAttribute("aria-pressed", String(isFull));
    if (!isFull) this.#measure();
  }

  /** What lies behind cannot be seen, so it gets no focus. @param {FocusEvent} event */
  #holdFocus = (event) => {
    const { figure } = this.#parts;
    if (!figure.isConnected) document.removeEventListener("focusin", this.#holdFocus);
    else if (!figure.contains(/** @type {Node} */ (event.target))) this.#full.focus();
  };

  #save() {
    const type = this.#kind === "svg" ? "image/svg+xml" : "text/html";
    this.#parts.saveFile(fileName(this.#kind, this.#code), new Blob([this.#code], { type }));
  }

  /** @param {PointerEvent} down */
  #drag(down) {
    const edge = this.#edge;
    const height = this.#box.offsetHeight;
    // The frame would take the pointer that passes over it.
    edge.setPointerCapture(down.pointerId);
    down.preventDefault();
    edge.focus();
    const move = (/** @type {PointerEvent} */ event) => this.#setHeight(height + event.clientY - down.clientY);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  }

  /** @param {KeyboardEvent} event */
  #resize(event) {
    const by = { ArrowDown: step, ArrowUp: -step }[event.key];
    if (!by) return;
    event.preventDefault();
    this.#setHeight(this.#box.offsetHeight + by);
  }

  /** @param {number} height */
  #setHeight(height) {
    this.#box.style.height = `${Math.max(lowest, Math.min(height, 3 * innerHeight))}px`;
    this.#measure();
  }

  #measure() {
    this.#edge.setAttribute("aria-valuemax", String(3 * innerHeight));
    this.#edge.setAttribute("aria-valuenow", String(this.#box.offsetHeight));
  }
}
