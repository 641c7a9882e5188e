// The dialog of saved prompts: the list of them, and a form for one. What is typed is not thrown away unasked.

import { exchange, request } from "../shared/api.js";
import { button, iconButton } from "../shared/controls.js";
import { askWhatCounts } from "../shared/conflict.js";
import { openDialog } from "../shared/dialog.js";
import { fill, make } from "../shared/dom.js";
import { SharedItem } from "../shared/shared-item.js";
import { toast } from "../shared/toast.js";
import { mayDiscard, watchUnsaved } from "../shared/unsaved.js";
import { promptWords as words } from "../texts/slash.js";

/** @import { PromptList, SavedPrompt } from "../wire/api.js" */
/** @import { Path } from "../shared/api.js" */

/** @type {Path<PromptList>} */ const promptsPath = "/api/prompts";

/** @param {string} name @returns {Path<SavedPrompt>} */
const pathOf = (name) => `${promptsPath}/${encodeURIComponent(name)}`;

/** @param {() => void} changed called after each change */
export function openPrompts(changed) {
  const place = make("div", { class: "prompts" });
  const turnAway = (/** @type {() => void} */ close) => void mayDiscard().then((isSure) => isSure && close());
  const dialog = openDialog({ title: words.title, body: [place], look: "dialog-wide", closing: turnAway });
  void new PromptsDialog(place, () => turnAway(() => dialog.close()), changed).list();
}

class PromptsDialog {
  #place;
  #close;
  #changed;

  /** @param {HTMLElement} place @param {() => void} close @param {() => void} changed */
  constructor(place, close, changed) {
    this.#place = place;
    this.#close = close;
    this.#changed = changed;
  }

  /** Shows the list. @param {string} [focus] the name of the prompt whose button takes the focus */
  async list(focus) {
    const status = make("p", { role: "status" }, words.loading);
    const add = button({ label: words.add, icon: "plus", press: () => this.#form(null) });
    const list = make("ul", { class: "prompts-list", role: "list" });
    const close = button({ label: words.close, press: this.#close });
    fill(this.#place, make("p", { class: "field-hint" }, words.lead), status, list, make("div", { class: "dialog-actions" }, add, close));
    add.focus();
    try {
      const { prompts } = await request(promptsPath);
      status.textContent = prompts.length > 0 ? "" : words.none;
      fill(list, ...prompts.map((prompt) => this.#row(prompt)));
    } catch (problem) {
      status.textContent = words.failed(/** @type {Error} */ (problem).message);
    }
    status.hidden = status.textContent === "";
    if (focus) /** @type {HTMLElement | null} */ (list.querySelector(`[data-name="${focus}"] button`))?.focus();
  }

  /** @param {SavedPrompt} prompt */
  #row(prompt) {
    return make(
      "li",
      { class: "prompts-row", data: { name: prompt.name } },
      make(
        "button",
        { type: "button", class: "prompts-open", "aria-label": words.edit(prompt.name), on: { click: () => this.#form(prompt) } },
        make("span", { class: "mono" }, `/${prompt.name}`),
        make("span", { class: "prompts-text", dir: "auto" }, prompt.content.slice(0, 200)),
      ),
      iconButton({ label: words.remove(prompt.name), icon: "trash", press: () => void this.#remove(prompt) }),
    );
  }

  /** @param {SavedPrompt} prompt */
  async #remove(prompt) {
    try {
      await request(pathOf(prompt.name), { method: "DELETE" });
    } catch (problem) {
      toast(/** @type {Error} */ (problem).message);
    }
    this.#changed();
    toast(words.removed, {
      label: words.undo,
      press: async () => {
        const back = request(pathOf(prompt.name), { method: "PUT", body: { content: prompt.content } });
        await back.catch((problem) => toast(problem.message));
        this.#changed();
        if (this.#place.isConnected) await this.list();
      },
    });
    await this.list();
  }

  /** @param {SavedPrompt | null} prompt */
  async #form(prompt) {
    const name = make("input", {
      class: "input mono",
      id: "prompt-name",
      value: prompt?.name ?? "",
      maxlength: 64,
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      disabled: prompt !== null,
      "aria-describedby": "prompt-name-hint",
    });
    const content = make("textarea", { class: "input", id: "prompt-content", rows: 8, value: prompt?.content ?? "" });
    const complaint = make("p", { class: "field-error", role: "alert" });
    const form = make(
      "form",
      { class: "dialog-form" },
      make(
        "div",
        { class: "field" },
        make("label", { for: "prompt-name" }, words.name),
        name,
        make("p", { class: "field-hint", id: "prompt-name-hint" }, words.nameHint),
      ),
      make("div", { class: "field" }, make("label", { for: "prompt-content" }, words.content), content),
      complaint,
      make(
        "div",
        { class: "dialog-actions" },
        button({
          label: words.back,
          press: () => void mayDiscard().then((isSure) => void (isSure && this.list(prompt?.name))),
        }),
        button({ label: words.save, look: "button-primary", type: "submit" }),
      ),
    );
    let isSaved = false;
    const isChanged = () =>
      !isSaved && (content.value.trim() !== (prompt?.content ?? "") || (!prompt && name.value.trim() !== ""));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      complaint.textContent = await this.#save(prompt, name.value.trim(), content);
      isSaved = complaint.textContent === "";
      if (!isSaved) return;
      this.#changed();
      await this.list(name.value.trim());
    });
    fill(this.#place, form);
    watchUnsaved(form, isChanged);
    (prompt ? content : name).focus();
  }

  /** @param {SavedPrompt | null} prompt @param {string} name @param {HTMLTextAreaElement} field @returns {Promise<string>} a complaint, or "" */
  async #save(prompt, name, field) {
    if (!/^[a-z0-9-]{1,64}$/.test(name)) return words.badName;
    if (!field.value.trim()) return words.empty;
    const item = new SharedItem(exchange, pathOf(name));
    try {
      if (prompt) {
        const present = await item.peek();
        // What was read for the list is what the person has edited.
        if (present && present.data.content === prompt.content) item.take(present);
        else item.take({ data: prompt, etag: '"of-the-list"' });
      } else item.takeNone();
      const { outcome, data } = await item.send(
        { method: "PUT", body: { content: field.value } },
        {
          isSame: (present) => present.content === field.value.trim(),
          ask: (present) =>
            prompt
              ? askWhatCounts({ name, present, show: () => [make("pre", { class: "prompts-theirs" }, present?.content ?? "")] })
              : Promise.resolve("stay"),
        },
      );
      if (outcome === "stay") return prompt ? words.stayed : words.exists(name);
      if (outcome === "theirs") field.value = data?.content ?? "";
      if (outcome === "mine" && !data) await request(pathOf(name), { method: "PUT", body: { content: field.value } });
      return "";
    } catch (problem) {
      return /** @type {Error} */ (problem).message;
    }
  }
}
