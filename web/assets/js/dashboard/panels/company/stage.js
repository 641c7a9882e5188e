// The stage of Live Company: places the furniture, and lets the figures walk, sit and show their bubbles. It draws frames only
// while a figure walks or a letter flies; otherwise it sleeps until the next event is due. With reduced motion, figures are at
// their place at once and do not fidget.

import { make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { visibleText } from "../../../shared/visible.js";
import { company as words } from "../../../texts/company.js";
import { at, draw, group } from "./art.js";
import {
  cabinet,
  clock,
  desk,
  door,
  inbox,
  ownerDesk,
  ownerSeat,
  plant,
  room,
  shelf,
  stool,
  terminal,
  waitingChair,
} from "./furniture.js";
import { deskAt, doorAt, fixed, mostDesks, mostDoors, seatAt, spotOf, way } from "./floor.js";
import { figure } from "./people.js";

/** @import { Happening, Seen } from "./office.js" */
/** @import { Place, Spot } from "./floor.js" */

/**
 * @typedef {{id: string, element: SVGElement, bubble: HTMLElement, shown: string, desk: number, spot: Spot, path: Spot[], aim: string,
 *   place: Place, seen: Seen, carries: boolean}} Person `aim`: where it was last sent
 */

const view = { x: -336, y: -168, width: 784, height: 560 };
const tilesASecond = 3.4;
/** Twelve frames per second, as in animated films, look calm and cost a fifth of sixty. */
const frameMs = 80;
/** Frames per step. */
const stride = 2;
const away = new Set(["shelf", "terminal", "cabinet", "window", "clock"]);

export class Stage {
  #things = group("things");
  #air = group("air");
  #over = make("div", { class: "bubbles", "aria-hidden": "true" });
  #svg = draw("svg", {
    class: "office",
    viewBox: `${view.x} ${view.y} ${view.width} ${view.height}`,
    "aria-hidden": "true",
    focusable: "false",
  });
  #clock = clock();
  #inbox = inbox();
  /** @type {Map<string, Person>} */ #people = new Map();
  /** @type {Map<string, {index: number, element: SVGElement}>} */ #doors = new Map();
  /** @type {SVGElement[]} */ #desks = [];
  /** The elements, from back to front. @type {{key: number, element: Element}[]} */ #order = [];
  #plan = "";
  #scale = 1;
  #isAwake = true;
  #lastFrame = 0;
  #pictures = 0;
  /** @type {number} */ #frame = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  #pick;
  element = make("div", { class: "stage" });

  /** @param {{pick: (id: string) => void, signal: AbortSignal}} options `pick` is called with the id of the pressed figure */
  constructor({ pick, signal }) {
    this.#pick = pick;
    this.#svg.append(room(), this.#clock.element, this.#things, this.#air);
    this.element.append(this.#svg, this.#over);
    this.#stand(shelf(), fixed.shelf);
    this.#stand(terminal(), fixed.terminal);
    this.#stand(cabinet(), fixed.cabinet);
    this.#stand(this.#inbox.element, fixed.inbox);
    this.#stand(ownerDesk(words.owner), fixed.owner);
    this.#stand(ownerSeat(), fixed.seat);
    this.#stand(waitingChair(), { x: 11, y: 6.25, w: 0.6, d: 0.7 });
    this.#stand(plant(0.6, 10.4, 0, 1.25), { x: 0.4, y: 10.2, w: 0.4, d: 0.4 });
    this.#stand(plant(14.3, 10.2, 0, 1.4), { x: 14.1, y: 10, w: 0.4, d: 0.4 });
    const sizes = new ResizeObserver(([entry]) => {
      this.#scale = entry.contentRect.width / view.width;
      for (const person of this.#people.values()) this.#hang(person);
    });
    sizes.observe(this.element);
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      this.sleep();
    });
    this.#clock.set(new Date());
  }

  /**
   * Shows who does what. A figure walks at once to where its agent works, and its bubble says what the list says.
   * @param {{seen: Seen[], happenings: Happening[], channels: {name: string, state: string}[], letters: number, job: string}} now
   */
  show({ seen, happenings, channels, letters, job }) {
    this.#build(
      seen.filter((agent) => !agent.isMain),
      channels,
    );
    seen.slice(0, mostDesks + 1).forEach((agent, index) => this.#person(agent, index - 1));
    for (const happening of happenings) this.#happen(happening);
    this.#inbox.hold(letters);
    this.#clock.element.classList.toggle("is-running", job !== "");
    this.#svg.classList.toggle(
      "is-asked",
      seen.some(({ state }) => state === "waiting"),
    );
    for (const person of this.#people.values()) this.#dress(person);
    this.#wake();
  }

  /** Nothing moves until `wake`. */
  sleep() {
    this.#isAwake = false;
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = 0;
    this.element.classList.add("is-asleep");
  }

  wake() {
    this.#isAwake = true;
    this.element.classList.remove("is-asleep");
    this.#clock.set(new Date());
    // Whatever happened meanwhile is over: everybody jumps to their current place.
    for (const person of this.#people.values()) this.#jump(person);
    this.#wake();
  }

  /** @param {string} id */
  mark(id) {
    for (const person of this.#people.values()) person.element.classList.toggle("is-picked", person.id === id);
  }

  /** Rebuilds desks and doors if they have changed. @param {Seen[]} specialists @param {{name: string, state: string}[]} channels */
  #build(specialists, channels) {
    const plan = JSON.stringify([
      specialists.map(({ name }) => name),
      channels.map(({ name, state }) => [name, state]),
    ]);
    if (plan === this.#plan) return;
    this.#plan = plan;
    for (const element of this.#desks) {
      element.remove();
      this.#order = this.#order.filter((thing) => thing.element !== element);
    }
    this.#desks = [];
    const place = (
      /** @type {SVGElement} */ element,
      /** @type {{x: number, y: number, w: number, d: number}} */ where,
    ) => {
      this.#desks.push(element);
      this.#stand(element, where);
    };
    const own = [
      { name: words.main, where: fixed.main },
      ...specialists.slice(0, mostDesks).map(({ name }, index) => ({ name: visibleText(name), where: deskAt(index) })),
    ];
    own.forEach(({ name, where }, index) => {
      place(stool(where), { x: where.x + where.w / 2 - 0.28, y: where.y - 0.72, w: 0.56, d: 0.5 });
      place(desk(name, where, index), where);
    });
    this.#doors.clear();
    channels.slice(0, mostDoors).forEach(({ name, state }, index) => {
      const element = door(visibleText(name), index, !/off|stopped|disabled|failed/.test(state));
      this.#doors.set(name, { index, element });
      place(element, { x: -1, y: doorAt(index).y - 0.5, w: 0, d: 1 });
    });
  }

  /** @param {Seen} seen @param {number} index of the desk */
  #person(seen, index) {
    const known = this.#people.get(seen.id);
    if (known) {
      known.seen = seen;
      return;
    }
    const element = figure(index + 1, visibleText(seen.isMain ? words.main : seen.name));
    element.addEventListener("click", () => this.#pick(seen.id));
    const bubble = make("div", { class: "bubble" });
    this.#over.append(bubble);
    /** @type {Person} */
    const person = {
      id: seen.id,
      element,
      bubble,
      shown: "",
      desk: index,
      spot: seatAt(index),
      path: [],
      aim: "",
      place: "desk",
      seen,
      carries: false,
    };
    this.#people.set(seen.id, person);
    this.#jump(person);
  }

  /** @param {Happening} happening */
  #happen(happening) {
    if (!this.#isAwake || this.#still.matches) return;
    if (happening.kind === "rings") return this.#flash(this.#clock.element, "is-ringing", 1600);
    if (happening.kind === "arrives") return this.#deliver(happening.channel);
    const person = this.#people.get(happening.agent);
    if (person) person.carries = true;
  }

  /** A letter flies from a door into the tray. @param {string} channel */
  #deliver(channel) {
    const found = this.#doors.get(channel);
    if (!found) return;
    this.#flash(found.element, "is-open", 1300);
    const { y } = doorAt(found.index);
    const [fromX, fromY] = at(0.3, y, 1.1);
    const [toX, toY] = at(fixed.inbox.x + 0.45, fixed.inbox.y + 0.45, 1.25);
    const letter = group(
      "flying",
      draw("rect", { class: "envelope", x: -8, y: -5.5, width: 16, height: 11, rx: 1.5 }),
      draw("path", { class: "envelope-flap", d: "M-8 -4.5L0 1.5L8 -4.5" }),
    );
    this.#air.append(letter);
    const high = Math.min(fromY, toY) - 46;
    const frames = [0, 0.25, 0.5, 0.75, 1].map((part) => {
      const x = fromX + (toX - fromX) * part;
      const arc = (1 - part) ** 2 * fromY + 2 * part * (1 - part) * high + part ** 2 * toY;
      return {
        transform: `translate(${x}px, ${arc}px) rotate(${Math.round((part - 0.5) * 24)}deg)`,
        opacity: part === 1 ? 0 : 1,
      };
    });
    letter.animate(frames, { duration: 1000, easing: "ease-in-out" }).finished.then(
      () => letter.remove(),
      () => letter.remove(),
    );
  }

  /** @param {Element} element @param {string} name @param {number} ms */
  #flash(element, name, ms) {
    element.classList.add(name);
    setTimeout(() => element.classList.remove(name), ms);
  }

  /** Schedules the next frame, or the next check. */
  #wake() {
    if (!this.#isAwake) return;
    clearTimeout(this.#timer);
    if (this.#still.matches) {
      for (const person of this.#people.values()) this.#jump(person);
      return;
    }
    for (const person of this.#people.values()) this.#decide(person);
    if (![...this.#people.values()].some((person) => person.path.length > 0))
      this.#timer = setTimeout(() => this.#look(), 6000 + Math.random() * 4000);
    else if (!this.#frame) {
      this.#lastFrame = performance.now();
      this.#next();
    }
  }

  /** Draws the next frame of a walk. */
  #next() {
    this.#timer = setTimeout(() => {
      this.#frame = requestAnimationFrame((time) => this.#move(time));
    }, frameMs - 12);
  }

  /** Runs while no figure walks: sets the clock, and lets an idle figure fidget. */
  #look() {
    this.#clock.set(new Date());
    const idle = [...this.#people.values()].filter(
      (person) => person.seen.state === "idle" && person.path.length === 0,
    );
    const one = idle[Math.floor(Math.random() * idle.length)];
    const gestures = ["does-blink", "does-sip", "does-look", "does-stretch"];
    if (one) this.#flash(one.element, gestures[Math.floor(Math.random() * gestures.length)], 1500);
    this.#wake();
  }

  /** Sends a figure to where its agent is, from wherever it is now. @param {Person} person */
  #decide(person) {
    const { place, tool } = person.seen;
    if (person.aim === `${place} ${tool}`) return;
    const goal = this.#goal(person, place, tool);
    person.aim = `${place} ${tool}`;
    person.place = place;
    person.path = isNear(person.spot, goal) ? [] : way(person.spot, goal, this.#people.size - 1);
    this.#dress(person);
  }

  /** @param {Person} person @param {Place} place @param {string} tool @returns {Spot} */
  #goal(person, place, tool) {
    const order = [...this.#people.values()].filter(
      (other) => other.id !== person.id && other.place === place && place !== "desk",
    ).length;
    const channel = this.#doors.has(tool) ? tool : person.seen.session.split(":")[0];
    const colleague = this.#people.get(tool.replace(/^ask_/, ""))?.desk ?? -1;
    return spotOf(place, { desk: person.desk, door: this.#doors.get(channel)?.index ?? 0, colleague, order });
  }

  /** @param {number} time */
  #move(time) {
    this.#frame = 0;
    this.#pictures += 1;
    const reach = (Math.min(time - this.#lastFrame, 160) / 1000) * tilesASecond;
    this.#lastFrame = time;
    for (const person of this.#people.values()) if (person.path.length > 0) this.#step(person, reach);
    const isMoving = [...this.#people.values()].some((person) => person.path.length > 0);
    if (isMoving && this.#isAwake) this.#next();
    else this.#wake();
  }

  /** @param {Person} person @param {number} reach in tiles */
  #step(person, reach) {
    let left = reach;
    person.element.classList.toggle("steps", Math.floor(this.#pictures / stride) % 2 === 0);
    while (left > 0 && person.path.length > 0) {
      const [corner] = person.path;
      const [dx, dy] = [corner.x - person.spot.x, corner.y - person.spot.y];
      const distance = Math.hypot(dx, dy);
      if (Math.abs(dx - dy) > 0.01) person.element.classList.toggle("faces-left", dx - dy < 0);
      person.element.classList.toggle("is-away", dx + dy < -0.2 * distance);
      if (distance <= left) {
        person.spot = corner;
        person.path.shift();
        left -= distance;
      } else {
        person.spot = { x: person.spot.x + (dx / distance) * left, y: person.spot.y + (dy / distance) * left };
        left = 0;
      }
    }
    if (person.path.length === 0) this.#arrive(person);
    this.#put(person);
  }

  /** @param {Person} person */
  #arrive(person) {
    if (person.place === "door" && person.carries) {
      person.carries = false;
      const found = this.#doors.get(person.seen.tool);
      if (found) this.#flash(found.element, "is-open", 1100);
    }
    this.#dress(person);
  }

  /** Puts a figure at its place without walking. @param {Person} person */
  #jump(person) {
    const { place, tool } = person.seen;
    Object.assign(person, { path: [], aim: `${place} ${tool}`, place, carries: false });
    person.spot = this.#goal(person, place, tool);
    this.#dress(person);
    this.#put(person);
  }

  /** Updates a figure's look and its bubble. @param {Person} person */
  #dress(person) {
    const { element, seen, place } = person;
    const { state } = seen;
    const isWalking = person.path.length > 0;
    element.setAttribute("data-state", state);
    element.classList.toggle("is-walking", isWalking);
    element.classList.toggle("is-sitting", !isWalking && (place === "desk" || place === "chair"));
    element.classList.toggle("carries", person.carries && seen.isAnswer);
    if (!isWalking) {
      element.classList.toggle("is-away", away.has(place));
      element.classList.toggle("faces-left", place === "door");
    }
    this.#svg.classList.toggle(
      "uses-terminal",
      [...this.#people.values()].some((other) => other.path.length === 0 && other.place === "terminal"),
    );
    const tool = seen.isAnswer ? words.answers : visibleText(seen.tool);
    const said = { tool, waiting: words.waitsShort, failed: tool || words.states.failed, thinking: "", idle: "" }[state];
    const key = `${state} ${said}`;
    if (person.shown === key) return;
    person.shown = key;
    person.bubble.dataset.state = state;
    const name =
      state === "waiting"
        ? "shield"
        : state === "failed"
          ? "alert"
          : seen.place === "shelf"
            ? "memory"
            : "tool";
    const dots = make("span", { class: "dots" }, make("i"), make("i"), make("i"));
    person.bubble.replaceChildren(
      ...(state === "idle" ? [] : state === "thinking" ? [dots] : [icon(name), make("span", {}, said)]),
    );
    person.bubble.hidden = state === "idle";
  }

  /** Draws a figure at its spot, in the right depth order. @param {Person} person */
  #put(person) {
    const [x, y] = at(person.spot.x, person.spot.y);
    person.element.style.transform = `translate(${x}px, ${y}px)`;
    this.#sort(person.element, person.spot.x + person.spot.y + 0.25);
    this.#hang(person);
  }

  /** @param {Person} person */
  #hang(person) {
    const [x, y] = at(person.spot.x, person.spot.y);
    const head = person.element.classList.contains("is-sitting") ? 72 : 66;
    const half = person.bubble.offsetWidth / 2;
    const left = Math.max(half + 2, Math.min((x - view.x) * this.#scale, view.width * this.#scale - half - 2));
    const top = (y - view.y - head) * this.#scale;
    person.bubble.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px) translate(-50%, -100%)`;
  }

  /** @param {SVGElement} element @param {{x: number, y: number, w: number, d: number}} where */
  #stand(element, { x, y, w, d }) {
    this.#sort(element, x + w / 2 + y + d / 2);
  }

  /** Moves an element to its place in the depth order. @param {Element} element @param {number} key */
  #sort(element, key) {
    const there = this.#order.findIndex((thing) => thing.element === element);
    const isRight =
      there >= 0 &&
      (this.#order[there - 1]?.key ?? -Infinity) <= key &&
      (this.#order[there + 1]?.key ?? Infinity) >= key;
    if (isRight) {
      this.#order[there].key = key;
      return;
    }
    if (there >= 0) this.#order.splice(there, 1);
    const found = this.#order.findIndex((thing) => thing.key > key);
    const index = found < 0 ? this.#order.length : found;
    this.#things.insertBefore(element, this.#order[index]?.element ?? null);
    this.#order.splice(index, 0, { key, element });
  }
}

/** @param {Spot} one @param {Spot} other */
const isNear = (one, other) => Math.hypot(other.x - one.x, other.y - one.y) < 0.05;
