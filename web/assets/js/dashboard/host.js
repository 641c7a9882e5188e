// Shows the panel named in the address: loads its module and styles, mounts it, and unmounts it again.

import { button, skeleton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { shell } from "../texts/shell.js";
import { errorState, state } from "../components/state.js";
import { contextOf, loadStyles } from "./context.js";
import { importWithRetry } from "./import-with-retry.js";
import { panelOf } from "./panels.js";
import { hrefOf, parseRoute } from "./route.js";

/** @import { Mount, Mounted, Panel } from "./panels.js" */

export class PanelHost {
  #frame;
  #store;
  #isLive;
  #begins;
  /** @type {{id: string, mounted: Mounted, end: AbortController} | null} */ #open = null;
  /** Rises with every opening, so that a module that loads late is recognised. */ #turn = 0;
  /** Whether the panel could not be loaded. */ #isLost = false;

  /**
   * @param {import("./frame.js").Frame} frame @param {import("./store.js").Store} store @param {() => boolean} isLive
   * @param {Promise<void>} begins when panels may ask for their data
   */
  constructor(frame, store, isLive, begins) {
    this.#frame = frame;
    this.#store = store;
    this.#isLive = isLive;
    this.#begins = begins;
  }

  /** Shows the panel at the current address. */
  async follow() {
    if (!location.hash || location.hash === "#/" || location.hash === "#")
      history.replaceState(history.state, "", hrefOf("overview"));
    const route = parseRoute(location.hash);
    const panel = panelOf(route.panel);
    if (panel && this.#open?.id === panel.id && this.#open.mounted.route) {
      this.#frame.setTitle(panel.label);
      if (this.#open.mounted.route(route.parts, route.query) !== false) return;
    }
    this.#close();
    this.#isLost = false;
    this.#turn += 1;
    const turn = this.#turn;
    this.#frame.setCurrent(panel?.id ?? "");
    fill(this.#frame.tools);
    if (!panel) return this.#unknown(location.hash);
    // What is known beforehand stands there before the panel is loaded, so that it moves nothing.
    this.#frame.setTitle(panel.label, panel.hasPages && route.parts.length > 0 ? hrefOf(panel.id) : undefined);
    this.#frame.announce(panel.label);
    fill(this.#frame.body, skeleton(6));
    scrollTo(0, 0);
    try {
      const [mount] = await Promise.all([load(panel), this.#begins]);
      if (turn === this.#turn) this.#mount(panel, mount, route);
    } catch (problem) {
      console.warn("the panel was not loaded", problem);
      if (turn === this.#turn) this.#failed();
    }
  }

  /** @param {import("./panels.js").LiveEvent} event */
  onEvent(...event) {
    this.#open?.mounted.live?.(...event);
  }

  /**
   * Refreshes after the connection was lost: data may be stale, and a missing panel may be available.
   * @param {boolean} [isNew] the page was opened a moment ago
   */
  refresh(isNew = false) {
    if (this.#isLost) return void this.follow();
    this.#open?.mounted.refresh?.(isNew);
  }

  /** @param {Panel} panel @param {Mount} mount @param {import("./route.js").Route} route */
  #mount(panel, mount, route) {
    const end = new AbortController();
    const root = make("div", { class: `panel-root panel-${panel.id}` });
    const context = contextOf({
      route,
      store: this.#store,
      frame: this.#frame,
      isLive: this.#isLive,
      signal: end.signal,
    });
    fill(this.#frame.body, root);
    this.#open = { id: panel.id, mounted: mount(root, context) ?? {}, end };
  }

  #close() {
    const open = this.#open;
    this.#open = null;
    if (!open) return;
    open.end.abort();
    open.mounted.unmount?.();
    for (const dialog of document.querySelectorAll("dialog[open]")) /** @type {HTMLDialogElement} */ (dialog).close();
  }

  /** @param {string} hash */
  #unknown(hash) {
    this.#frame.setTitle(shell.unknownTitle);
    const home = make("a", { class: "button", href: "#/overview" }, shell.toOverview);
    fill(this.#frame.body, state({ icon: "info", title: shell.unknownLead, text: shell.unknown(hash), action: home }));
  }

  #failed() {
    this.#isLost = true;
    const again = button({ label: shell.reload, icon: "retry", press: () => location.reload() });
    fill(this.#frame.body, errorState({ title: shell.panelFailed, text: shell.panelFailedHint, action: again }));
  }
}

/** @param {Panel} panel @returns {Promise<Mount>} */
async function load(panel) {
  const styles = new URL(`../../css/panels/${panel.id}.css`, import.meta.url);
  const [module] = await Promise.all([
    importWithRetry(`panels/${panel.id}/index`),
    panel.hasStyles ? loadStyles(styles.pathname) : null,
  ]);
  return module.mount;
}
