// Builds elements. Text is always inserted as text: nothing here can turn a string into markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * What a new element has: `data` by name, `on` the listeners by event, and attributes.
 * @typedef {{class?: string | false | null, data?: Record<string, string | number | boolean | undefined>,
 *   on?: Record<string, (event: Event) => unknown>, value?: string | number | null, [attribute: string]: unknown}} Properties
 */

/**
 * Creates an element. Properties are set as attributes, except `class`, `data` (an object), `on` (listeners) and
 * booleans, which are present or absent. Fields follow the direction of what is written in them.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  // What is written in a field is read from the side on which its first letter belongs.
  if (tag === "textarea" || tag === "input") element.setAttribute("dir", "auto");
  const { class: look, data, on, value, ...attributes } = properties;
  if (look || look === "") element.className = look;
  if (data) Object.assign(element.dataset, data);
  if (on) listen(element, on);
  for (const [name, said] of Object.entries(attributes))
    if (said !== undefined && said !== null && said !== false) element.setAttribute(name, said === true ? "" : String(said));
  // A property, and the last: what a field takes depends on its attributes.
  if (value !== undefined && value !== null) Object.assign(element, { value });
  element.append(...present(children));
  return element;
}

/**
 * Replaces the children of an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/**
 * Replaces the children of an element that may contain the focus, which moves to the control of the same name, else to the one in
 * the same place.
 * @param {Element} element
 * @param {...Child} children
 */
export function refill(element, ...children) {
  const held = document.activeElement;
  const at =
    held && held !== element && element.contains(held)
      ? controls(element).indexOf(/** @type {HTMLElement} */ (held))
      : -1;
  const name = held && nameOf(held);
  fill(element, ...children);
  if (at < 0) return;
  const next = controls(element);
  (next.find((control) => nameOf(control) === name) ?? next[Math.min(at, next.length - 1)])?.focus({
    preventScroll: true,
  });
}

/** @param {Element} element @returns {HTMLElement[]} */
const controls = (element) =>
  [...element.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].map(
    (control) => /** @type {HTMLElement} */ (control),
  );

/** @param {Element} control */
const nameOf = (control) => control.getAttribute("aria-label") ?? control.textContent;

/**
 * Makes `wanted` the exact children of `parent`, in order, touching only differences, so that focus and selection survive.
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((child, index) => {
    const there = parent.children[index];
    if (there !== child) parent.insertBefore(child, there ?? null);
  });
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function present(children) {
  const kept = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    kept.push(child instanceof Node ? child : String(child));
  }
  return kept;
}

/** @param {Element} element @param {Record<string, (event: Event) => unknown>} listeners */
function listen(element, listeners) {
  for (const [event, listener] of Object.entries(listeners)) element.addEventListener(event, listener);
}
