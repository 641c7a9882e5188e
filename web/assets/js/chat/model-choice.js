// The button that names the model of the open conversation, and the list to choose another from.

import { request } from "../shared/api.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { OptionList } from "../shared/option-list.js";
import { modelWords as words } from "../texts/models.js";

/** @import { ModelList, OfferedModel } from "../wire/api.js" */

/** @import { Path } from "../shared/api.js" */

const limit = 60;

/** @param {string} q @returns {Path<ModelList>} */
const modelsPath = (q) => `/api/models?${new URLSearchParams({ q, limit: `${limit}` })}`;
const pauseMs = 150;

export class ModelChoice {
  element = make("button", { type: "button", class: "composer-model", "aria-haspopup": "dialog", "aria-expanded": "false" });
  #choose;
  #standard = "";
  /** @type {string | null} */ #chosen = null;
  /** @type {Map<string, OfferedModel>} What is known of the models by id. */ #known = new Map();
  /** @type {(() => void) | null} Closes the open list. */ #close = null;

  /** @param {(model: string | null) => void} choose null is the default */
  constructor(choose) {
    this.#choose = choose;
    this.element.addEventListener("click", () => (this.#close ? this.#close() : this.#open()));
    this.#draw();
  }

  /** @param {string} model the configured one, or "" while there is none */
  setStandard(model) {
    this.#standard = model;
    this.#draw();
  }

  /** @param {string | null} model */
  setChosen(model) {
    this.#chosen = model;
    this.#draw();
  }

  /** Opens the list, as a press of the button does. */
  open() {
    if (!this.#close && !this.element.hidden) this.#open();
  }

  /** Whether it is known that the present model does not think. */
  get isPlain() {
    const abilities = this.#known.get(this.#chosen ?? this.#standard)?.abilities ?? [];
    return abilities.length > 0 && !abilities.includes("reasoning");
  }

  #draw() {
    const shown = this.#chosen ?? this.#standard;
    const name = this.#known.get(shown)?.name || shown;
    this.element.hidden = !shown;
    this.element.replaceChildren(make("span", {}, name), icon("chevron"));
    this.element.title = words.title;
    this.element.setAttribute("aria-label", words.label(name));
  }

  #open() {
    const field = make("input", {
      type: "text",
      role: "combobox",
      class: "input",
      "aria-expanded": "true",
      "aria-label": words.search,
      placeholder: words.search,
      autocomplete: "off",
      spellcheck: "false",
    });
    const note = make("p", { class: "models-note", role: "status" }, words.loading);
    const panel = make("div", { class: "models", role: "dialog", popover: "auto", "aria-label": words.title }, field);
    const close = () => panel.hidePopover();
    const list = new OptionList(field, words.list, (option) => {
      close();
      if ((option.key || null) !== this.#chosen) this.#choose(option.key || null);
    });
    panel.append(list.element, note);
    const ask = this.#asker(list, note, () => panel.isConnected);
    field.addEventListener("input", () => ask(field.value, pauseMs));
    field.addEventListener("keydown", (event) => {
      list.key(event);
      // The form around the button must not take Enter for its own.
      if (event.key === "Enter") event.preventDefault();
    });
    panel.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
      this.#close = null;
      this.element.setAttribute("aria-expanded", "false");
      if (panel.contains(document.activeElement) || document.activeElement === document.body) this.element.focus();
      panel.remove();
    });
    this.element.after(panel);
    panel.showPopover();
    this.#close = close;
    this.element.setAttribute("aria-expanded", "true");
    const anchor = this.element.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(anchor.left, innerWidth - panel.offsetWidth - 8))}px`;
    panel.style.bottom = `${Math.max(8, innerHeight - anchor.top + 6)}px`;
    field.focus();
    ask("", 0);
  }

  /**
   * Makes a function that asks for models after a pause in typing, and shows the answer to the newest question only.
   * @param {OptionList<import("../shared/option-list.js").Option>} list @param {HTMLElement} note @param {() => boolean} isWanted
   */
  #asker(list, note, isWanted) {
    let newest = 0;
    /** @param {string} text @param {number} pause */
    return (text, pause) => {
      const mine = ++newest;
      setTimeout(async () => {
        if (mine !== newest || !isWanted()) return;
        const q = text.trim();
        try {
          const found = await request(modelsPath(q));
          if (mine !== newest || !isWanted()) return;
          for (const model of found.models) this.#known.set(model.id, model);
          this.#draw();
          list.show([...(q ? [] : [this.#standardOption(found.current)]), ...found.models.map((model) => this.#option(model))]);
          note.textContent = list.isEmpty ? words.none : "";
        } catch (problem) {
          if (mine === newest) note.textContent = words.failed(/** @type {Error} */ (problem).message);
        }
        note.hidden = !note.textContent;
      }, pause);
    };
  }

  /** @param {string} current */
  #standardOption(current) {
    return { key: "", label: words.standard, detail: words.standardDetail(current), isChosen: this.#chosen === null };
  }

  /** @param {OfferedModel} model */
  #option(model) {
    return {
      key: model.id,
      label: model.name || model.id,
      detail: detailOf(model),
      group: words.groups[/** @type {keyof typeof words.groups} */ (model.source)],
      isChosen: model.id === this.#chosen,
    };
  }
}

/** What a person weighs when choosing. @param {OfferedModel} model */
export function detailOf({ id, name, provider, model_id: modelId, context_window: context, prices, abilities }) {
  const service = name && modelId !== name && modelId !== id ? `${provider}, ${modelId}` : provider;
  const parts = [service];
  if (context) parts.push(words.context(roughly(context)));
  if (prices) parts.push(words.prices(String(prices.input), String(prices.output)));
  const able = abilities.map((ability) => words.abilities[ability] ?? ability).join(", ");
  return [...parts, able].filter(Boolean).join(" · ");
}

/** @param {number} tokens */
function roughly(tokens) {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}k` : String(tokens);
}
