// A tree of labelled items, following the ARIA tree view pattern: arrow keys move, right expands, left collapses.

import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";

/** @import { Child } from "../shared/dom.js" */

/**
 * @typedef {{id: string, label: Child[], aside?: Child[], children?: () => Node_[], isOpen?: boolean, press?: () => void}} Node_
 *   an item; what is below it is built when it is opened first
 */

/**
 * @param {string} label
 * @param {Node_[]} nodes
 * @param {(id: string, isOpen: boolean) => void} [toggled]
 */
export function tree(label, nodes, toggled) {
  const root = make("ul", { class: "tree", role: "tree", "aria-label": label });
  root.append(...nodes.map((node) => item(node, 1, toggled)));
  const first = root.querySelector("[role=treeitem]");
  first?.setAttribute("tabindex", "0");
  root.addEventListener("focusin", (event) => {
    const at = /** @type {Element} */ (event.target).closest("[role=treeitem]");
    if (!at || event.target !== at) return;
    for (const other of root.querySelectorAll('[role=treeitem][tabindex="0"]')) other.setAttribute("tabindex", "-1");
    at.setAttribute("tabindex", "0");
  });
  root.addEventListener("keydown", (event) => move(root, event));
  return root;
}

/** @param {Node_} node @param {number} level @param {((id: string, isOpen: boolean) => void) | undefined} toggled @returns {HTMLElement} */
function item({ id, label, aside, children, isOpen = false, press }, level, toggled) {
  const group = children && make("ul", { role: "group", hidden: !isOpen });
  const head = make(
    "div",
    { class: "tree-row" },
    children ? icon("chevron", "tree-mark") : make("span", { class: "tree-mark" }),
    make("span", { class: "tree-label" }, ...label),
    aside && make("span", { class: "tree-aside" }, ...aside),
  );
  const element = make(
    "li",
    {
      role: "treeitem",
      id: `tree-${id}`,
      tabindex: "-1",
      "aria-level": level,
      "aria-expanded": children ? String(isOpen) : undefined,
      data: { level: String(level) },
    },
    head,
    group,
  );
  const fillGroup = () => {
    if (group && children && group.childElementCount === 0)
      group.append(...children().map((child) => item(child, level + 1, toggled)));
  };
  if (isOpen) fillGroup();
  const set = (/** @type {boolean} */ opens) => {
    if (!group) return;
    fillGroup();
    group.hidden = !opens;
    element.setAttribute("aria-expanded", String(opens));
    toggled?.(id, opens);
  };
  element.addEventListener("tree-toggle", (event) => {
    event.stopPropagation();
    set(/** @type {CustomEvent} */ (event).detail ?? group?.hidden ?? false);
  });
  head.addEventListener("click", () => {
    element.focus();
    if (children) set(Boolean(group?.hidden));
    else press?.();
  });
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.key !== "Enter") return;
    event.preventDefault();
    if (children) set(Boolean(group?.hidden));
    else press?.();
  });
  return element;
}

/** @param {HTMLElement} root @param {KeyboardEvent} event */
function move(root, event) {
  const at = /** @type {HTMLElement} */ (event.target);
  if (at.getAttribute("role") !== "treeitem") return;
  const shown = /** @type {HTMLElement[]} */ (
    [...root.querySelectorAll("[role=treeitem]")].filter((entry) => entry.checkVisibility())
  );
  const index = shown.indexOf(at);
  const isOpen = at.getAttribute("aria-expanded");
  const toggle = (/** @type {boolean} */ opens) => at.dispatchEvent(new CustomEvent("tree-toggle", { detail: opens }));
  const go = (/** @type {Element | null | undefined} */ target) =>
    /** @type {HTMLElement | null | undefined} */ (target)?.focus();
  const actions = /** @type {Record<string, () => void>} */ ({
    ArrowDown: () => go(shown[index + 1]),
    ArrowUp: () => go(shown[index - 1]),
    Home: () => go(shown[0]),
    End: () => go(shown.at(-1)),
    ArrowRight: () => (isOpen === "false" ? toggle(true) : isOpen === "true" && go(shown[index + 1])),
    ArrowLeft: () => (isOpen === "true" ? toggle(false) : go(at.parentElement?.closest("[role=treeitem]"))),
  });
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}
