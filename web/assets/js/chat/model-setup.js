// Sets up the first model in the page: service, key, model, a real question, done. What was typed stays until it works.

import { Problem, request } from "../shared/api.js";
import { button } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { setupWords as words } from "../texts/setup.js";

/** @import { ModelSetUp, ModelsOffered } from "../wire/api.js" */
/** @import { Path } from "../shared/api.js" */
/** @typedef {"key" | "host" | "region" | "model_id"} Name */

/** The fields of each service; those that it cannot do without are marked. @type {Record<string, Partial<Record<Name, boolean>>>} */
const services = {
  openai: { key: false, host: false },
  anthropic: { key: true },
  ollama: { host: false },
  gemini: { key: true },
  mistral: { key: true },
  litellm: { host: true, key: false },
  bedrock: { region: true },
};

/** A real question may wait for a model that is being loaded. */
const patienceMs = 60000;

/** @type {Path<ModelsOffered>} */ const offeredPath = "/api/models/offered";
/** @type {Path<ModelSetUp>} */ const setupPath = "/api/models/setup";

let forms = 0;

export class ModelSetup {
  element;
  #done;
  #id = `setup-${++forms}`;
  #hint = make("p", { class: "field-hint" });
  #status = make("p", { class: "field-hint", role: "status" });
  #provider = make("select", { class: "input", id: `${this.#id}-provider` });
  #list = make("datalist", { id: `${this.#id}-models` });
  /** @type {Record<Name, {row: HTMLElement, box: HTMLInputElement, hint: HTMLElement, fault: HTMLElement}>} */ #fields;
  #fault = make("p", { class: "field-error", role: "alert" });
  #use = button({ label: words.use, type: "submit", look: "button-primary" });
  #show = button({ label: words.list, press: () => void this.#offer() });

  /** @param {(sentence: string) => void} done called once the model answers */
  constructor(done) {
    this.#done = done;
    for (const name of Object.keys(services)) this.#provider.append(make("option", { value: name }, words.providers[name]));
    this.#fields = {
      key: this.#field("key", words.key, { type: "password", autocomplete: "off", spellcheck: "false" }),
      host: this.#field("host", words.host, { type: "url", inputmode: "url", spellcheck: "false" }),
      region: this.#field("region", words.region, { type: "text", spellcheck: "false", autocapitalize: "none" }),
      model_id: this.#field("model_id", words.model, {
        type: "text",
        list: this.#list.id,
        spellcheck: "false",
        autocapitalize: "none",
        autocomplete: "off",
      }),
    };
    this.element = make(
      "form",
      { class: "setup", novalidate: true, "aria-labelledby": `${this.#id}-title` },
      make("h3", { id: `${this.#id}-title` }, icon("key"), words.title),
      make("p", { class: "setup-lead" }, words.lead),
      this.#hint,
      make(
        "div",
        { class: "field" },
        make("label", { for: this.#provider.id }, words.provider),
        this.#provider,
        this.#fault,
      ),
      ...Object.values(this.#fields).map(({ row }) => row),
      this.#list,
      make("div", { class: "setup-row" }, this.#use, this.#show, this.#status),
    );
    this.#provider.addEventListener("change", () => this.#shape());
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#try();
    });
    this.#shape();
  }

  /** What the server misses; the terminal and the environment can set it as well. @param {string} hint */
  setHint(hint) {
    fill(this.#hint, ...sentence(hint));
  }

  /** @param {Name} name @param {string} label @param {Record<string, string>} attributes */
  #field(name, label, attributes) {
    const id = `${this.#id}-${name}`;
    const box = make("input", { class: "input", id, "aria-describedby": `${id}-hint ${id}-fault`, ...attributes });
    const hint = make("p", { class: "field-hint", id: `${id}-hint` });
    const fault = make("p", { class: "field-error", id: `${id}-fault`, role: "alert" });
    box.addEventListener("input", () => {
      fault.textContent = "";
      box.removeAttribute("aria-invalid");
    });
    return { row: make("div", { class: "field" }, make("label", { for: id }, label), box, hint, fault), box, hint, fault };
  }

  /** Shows the fields that the chosen service has. */
  #shape() {
    const provider = this.#provider.value;
    const service = services[provider];
    for (const [name, { row, box }] of /** @type {[Name, {row: HTMLElement, box: HTMLInputElement}][]} */ (Object.entries(this.#fields))) {
      row.hidden = name !== "model_id" && !(name in service);
      box.required = Boolean(service[name]);
    }
    this.#fields.key.hint.textContent = service.key === false ? `${words.keyHint} ${words.keyOptional}` : words.keyHint;
    this.#fields.host.hint.textContent = words.hostHints[provider] ?? "";
    this.#fields.region.hint.textContent = words.regionHint;
    this.#fields.model_id.hint.textContent = words.modelHint;
    fill(this.#list);
    this.#forget();
  }

  /** What is typed, without the fields that the service does not have. */
  #wish() {
    const service = services[this.#provider.value];
    const typed = Object.entries(this.#fields).filter(([name, { box }]) => (name === "model_id" || name in service) && box.value.trim());
    return Object.fromEntries([["provider", this.#provider.value], ...typed.map(([name, { box }]) => [name, box.value.trim()])]);
  }

  async #offer() {
    const found = await this.#ask(offeredPath, words.listing);
    if (!found) return;
    fill(this.#list, ...found.models.map((model) => make("option", { value: model })));
    this.#status.textContent = words.listed(found.models.length);
    this.#fields.model_id.box.focus();
  }

  async #try() {
    const done = await this.#ask(setupPath, words.testing);
    if (!done) return;
    this.#fields.key.box.value = "";
    const sentence = words.done(done.model, done.first_token_ms ? words.after(done.first_token_ms) : "");
    this.#done([sentence, ...done.warnings].join(" "));
  }

  /**
   * @template [Answer=unknown]
   * @param {Path<Answer>} path @param {string} meanwhile @returns {Promise<Answer | null>} null if it failed, which is shown
   */
  async #ask(path, meanwhile) {
    this.#forget();
    this.#status.textContent = meanwhile;
    this.#hold(true);
    try {
      return await request(path, { method: "POST", body: this.#wish(), signal: AbortSignal.timeout(patienceMs) });
    } catch (problem) {
      this.#tell(/** @type {Error} */ (problem));
      return null;
    } finally {
      this.#hold(false);
      if (this.#status.textContent === meanwhile) this.#status.textContent = "";
    }
  }

  /** @param {Error} problem */
  #tell(problem) {
    const errors = problem instanceof Problem ? problem.errors : [];
    const named = errors.find(({ field }) => field in this.#fields && !this.#fields[/** @type {Name} */ (field)].row.hidden);
    if (!named) {
      fill(this.#fault, ...sentence(errors[0]?.message ?? problem.message));
      this.#provider.focus();
      return;
    }
    const { box, fault } = this.#fields[/** @type {Name} */ (named.field)];
    // The server looks for a key in its environment as well, so that only its answer says that there is none.
    const isKeyMissing = named.field === "key" && !this.#wish().key && !this.#wish().host;
    fill(fault, ...sentence(isKeyMissing ? words.keyMissing : named.message));
    box.setAttribute("aria-invalid", "true");
    box.focus();
  }

  #forget() {
    this.#fault.textContent = "";
    this.#status.textContent = "";
    for (const { box, fault } of Object.values(this.#fields)) {
      fault.textContent = "";
      box.removeAttribute("aria-invalid");
    }
  }

  /** @param {boolean} isHeld */
  #hold(isHeld) {
    this.#use.disabled = isHeld;
    this.#show.disabled = isHeld;
  }
}
