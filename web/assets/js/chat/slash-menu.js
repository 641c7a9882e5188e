// The menu that a slash at the beginning of a message opens: commands of this page, saved prompts, and SOPs. The box keeps the
// focus; what is typed narrows the list.

import { request } from "../shared/api.js";
import { make } from "../shared/dom.js";
import { OptionList } from "../shared/option-list.js";
import { slashWords as words } from "../texts/slash.js";

/** @import { PromptList, SavedPrompt, Sop, SopList } from "../wire/api.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Option } from "../shared/option-list.js" */
/**
 * @typedef {{name: string, detail: string, run: () => void}} Command
 * @typedef {{commands: () => Command[], write: (text: string, from?: number, to?: number) => void}} SlashActions `write`
 *   replaces the message, and selects a part of it
 * @typedef {Option & {name: string, isSop: boolean, pick: () => void}} Choice
 */

/** For how long SOPs and prompts that were read are offered without asking again. */
const freshMs = 10000;

/** The commands that the assistant itself answers, for every client alike. */
const ofAssistant = ["mcp", "model", "work"];

/** @type {Path<SopList>} */ const sopsPath = "/api/sops";
/** @type {Path<PromptList>} */ const promptsPath = "/api/prompts";

export class SlashMenu {
  element = make("div", { class: "slash-menu", hidden: true });
  #field;
  #actions;
  #list;
  #status = make("p", { class: "visually-hidden", role: "status" });
  /** @type {Sop[]} */ #sops = [];
  /** @type {SavedPrompt[]} */ #prompts = [];
  #readAt = -freshMs;
  #isDismissed = false;
  /** Whether all SOPs and prompts are known, so that any other name is none. */ #knowsAll = false;

  /** @param {HTMLTextAreaElement} field @param {SlashActions} actions */
  constructor(field, actions) {
    this.#field = field;
    this.#actions = actions;
    this.#list = new OptionList(field, words.list, (/** @type {Choice} */ choice) => this.#pick(choice));
    this.element.append(this.#list.element, this.#status);
    field.addEventListener("blur", () => this.close());
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Opens, narrows or closes the list, after what is written has changed. */
  look() {
    const typed = typedName(this.#field.value, this.#field.selectionStart);
    if (typed === null) {
      this.#isDismissed = false;
      return this.close();
    }
    if (this.#isDismissed || document.activeElement !== this.#field) return;
    if (performance.now() - this.#readAt > freshMs) void this.#read();
    this.#show(typed);
  }

  close() {
    this.element.hidden = true;
    this.#list.show([]);
    this.#field.setAttribute("aria-haspopup", "false");
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether the key was for the list */
  key(event) {
    if (!this.isOpen || event.isComposing || event.keyCode === 229) return false;
    const active = this.#list.active;
    if (event.key === "Escape") {
      this.#isDismissed = true;
      this.close();
    } else if (event.key === "Tab" && !event.shiftKey && active) this.#pick(active);
    // A SOP that is written in full is sent, as it always was.
    else if (event.key === "Enter" && (event.shiftKey || (active?.isSop && this.#field.value === `/${active.name}`))) {
      this.close();
      return false;
    } else return this.#list.key(event);
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Asks for SOPs and prompts. Without an answer, the commands are there all the same. */
  async #read() {
    this.#readAt = performance.now();
    const sops = request(sopsPath).then((answer) => (this.#sops = answer.enabled ? answer.sops : []));
    const prompts = request(promptsPath).then((answer) => (this.#prompts = answer.prompts));
    const read = await Promise.allSettled([sops, prompts]);
    this.#knowsAll = read.every(({ status }) => status === "fulfilled");
    const typed = typedName(this.#field.value, this.#field.selectionStart);
    if (typed !== null && !this.#isDismissed && document.activeElement === this.#field) this.#show(typed);
  }

  /**
   * What to say of a message that calls a command which does not exist; "" if it can be sent. A name of which it is not known whether
   * it is a SOP is sent: the server knows.
   * @param {string} text
   */
  async objection(text) {
    const name = commandIn(text);
    const known = () => [...this.#choices().map((one) => one.name.toLowerCase()), ...ofAssistant];
    if (name === null || known().includes(name)) return "";
    await this.#read();
    if (!this.#knowsAll || known().includes(name)) return "";
    return words.unknown(name, nearest(name, known()));
  }

  /** Has prompts that were changed on this page read again. */
  forget() {
    this.#readAt = -freshMs;
  }

  /** @param {string} typed */
  #show(typed) {
    const choices = matching(this.#choices(), typed);
    this.#list.show(choices);
    this.element.hidden = choices.length === 0;
    this.#field.setAttribute("aria-haspopup", choices.length > 0 ? "listbox" : "false");
    const told = choices.length > 0 ? words.count(choices.length) : "";
    if (this.#status.textContent !== told) this.#status.textContent = told;
  }

  /** @returns {Choice[]} */
  #choices() {
    const commands = this.#actions.commands().map(({ name, detail, run }) => ({
      ...choice("command", name, detail, words.commands),
      pick: () => {
        this.#actions.write("");
        run();
      },
    }));
    const prompts = this.#prompts.map(({ name, content }) => ({
      ...choice("prompt", name, content.slice(0, 160), words.prompts),
      pick: () => this.#actions.write(content, ...placeholder(content)),
    }));
    const sops = this.#sops.map((sop) => ({
      ...choice("sop", sop.name, [sop.description || sop.title, parametersOf(sop)].filter(Boolean).join(" · "), words.sops),
      isSop: true,
      pick: () => this.#actions.write(...callOf(sop)),
    }));
    return [...commands, ...prompts, ...sops];
  }

  /** @param {Choice} choice */
  #pick(choice) {
    this.close();
    choice.pick();
  }
}

/** @param {string} kind @param {string} name @param {string} detail @param {string} group */
const choice = (kind, name, detail, group) => ({ key: `${kind}:${name}`, name, label: `/${name}`, detail, group, isSop: false });

/** The name that is being written after a slash, if the message is nothing else. @param {string} text @param {number} caret */
export function typedName(text, caret) {
  const match = /^\/([\p{L}\d_-]*)$/u.exec(text);
  return match && caret === text.length ? match[1].toLowerCase() : null;
}

/** The name of the command that a message begins with, in lower case; null if it begins otherwise, such as with a path. @param {string} text */
export const commandIn = (text) => /^\/([\p{L}\d_-]+)(?:\s|$)/u.exec(text)?.[1].toLowerCase() ?? null;

/** The text that a message stands for: two slashes before a name are for one, as in the terminal. @param {string} text */
export const withoutEscape = (text) => (text.startsWith("//") && commandIn(text.slice(1)) ? text.slice(1) : text);

/** The name that differs least, if it is near enough to be a slip; "" without one. @param {string} name @param {string[]} known */
export function nearest(name, known) {
  const all = known.map((one) => ({ one, far: distance(name, one) })).sort((a, b) => a.far - b.far);
  const most = Math.max(1, Math.floor(name.length / 2));
  return all.length > 0 && all[0].far <= most ? all[0].one : "";
}

/** How many letters are put in, taken out or replaced between two names. @param {string} from @param {string} to */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 0; at < to.length; at += 1)
      next.push(Math.min(row[at + 1] + 1, next[at] + 1, row[at] + Number(letter !== to[at])));
    row = next;
  }
  return row[to.length];
}

/**
 * Those whose name begins with what was typed; then those that contain it.
 * @template {{name: string, group?: string}} [T={name: string, group?: string}]
 * @param {T[]} choices @param {string} typed @returns {T[]} in the order of their groups
 */
export function matching(choices, typed) {
  const rank = (/** @type {T} */ { name }) => (name.startsWith(typed) ? 0 : name.includes(typed) ? 1 : 2);
  const found = choices.filter((one) => rank(one) < 2);
  // The group of the best match comes first.
  const best = new Map();
  for (const one of found) best.set(one.group, Math.min(best.get(one.group) ?? 2, rank(one)));
  return found.sort((one, other) => best.get(one.group) - best.get(other.group) || (one.group === other.group ? rank(one) - rank(other) : 0));
}

/** The first `{{gap}}` of a prompt, which is to be filled in. @param {string} text @returns {[number, number]} */
export function placeholder(text) {
  const match = /\{\{[^{}\n]*\}\}/.exec(text);
  return match ? [match.index, match.index + match[0].length] : [text.length, text.length];
}

/** @param {Pick<Sop, "parameters">} sop */
function parametersOf({ parameters }) {
  return parameters.map(({ name, required }) => (required ? name : words.optional(name))).join(", ");
}

/**
 * The call of a SOP, and the part to be filled in. Free text is the first required parameter; if there are more, all are named.
 * @param {Pick<Sop, "name" | "parameters">} sop @returns {[string, number, number]}
 */
export function callOf({ name, parameters }) {
  const required = parameters.filter((parameter) => parameter.required);
  const named = required.length > 1 ? required.map((parameter) => `${parameter.name}=""`).join(" ") : "";
  const call = `/${name} ${named}`;
  const at = named ? call.indexOf('""') + 1 : call.length;
  return [call, at, at];
}
