// Small pure modules: back-off, grouping, times, the marking of invisible characters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isText } from "../assets/js/chat/attachments.js";
import { countAfter } from "../assets/js/chat/branch.js";
import { markdownTable } from "../assets/js/chat/pasted-table.js";
import { archivedOf, grouped, nameOf } from "../assets/js/chat/grouping.js";
import { pictureSource } from "../assets/js/chat/picture.js";
import { placesOf, wordsOf } from "../assets/js/chat/found-marks.js";
import { beginOf, chooseDrawn, exchangeAt } from "../assets/js/chat/turn-window.js";
import { callOf, commandIn, matching, nearest, placeholder, typedName, withoutEscape } from "../assets/js/chat/slash-menu.js";
import { fits, isLong } from "../assets/js/chat/size.js";
import { inSentences, spokenLines } from "../assets/js/chat/spoken.js";
import { most, percent, sumsByDay } from "../assets/js/dashboard/usage-sums.js";
import { delayBefore } from "../assets/js/shared/backoff.js";
import { learn, now } from "../assets/js/shared/clock.js";
import { sentencePieces } from "../assets/js/shared/sentence.js";
import { visiblePieces, visibleText } from "../assets/js/shared/visible.js";
import { BoundedWorker } from "../assets/js/chat/bounded-worker.js";
import { chunksOf } from "../assets/js/chat/long-code.js";
import { asChange, brief, hasOddCharacters, lastLines } from "../assets/js/shared/sheet.js";
import { ago, countdown, duration, money } from "../assets/js/shared/time.js";

test("the back-off doubles, is spread, and has a ceiling", () => {
  assert.equal(
    delayBefore(0, () => 0),
    250,
  );
  assert.equal(
    delayBefore(0, () => 1),
    500,
  );
  assert.equal(
    delayBefore(3, () => 1),
    4000,
  );
  assert.equal(
    delayBefore(50, () => 1),
    5000,
  );
});

test("conversations are grouped by folder and age, and pinned ones come first", () => {
  const now = new Date(2026, 10, 20, 12);
  const at = (days) => new Date(2026, 10, 20 - days, 9).toISOString();
  const session = (name, days, place = {}) => ({
    session_id: `webchat:${name}`,
    channel: "webchat",
    title: name,
    updated_at: at(days),
    ...place,
  });
  const all = [
    session("old", 30),
    session("today", 0),
    session("before", 1),
    session("week", 3),
    session("kept", 99, { pinned: true, folder: "Work" }),
    session("away", 0, { archived: true }),
    session("tax", 40, { folder: "Work" }),
    session("trip", 0, { folder: "Fun" }),
    session("odd", 0, { folder: "Today" }),
  ];
  const groups = grouped(all, now);
  assert.deepEqual(
    groups.map(({ label, sessions }) => [label, sessions[0].title]),
    [
      ["Pinned", "kept"],
      ["Fun", "trip"],
      ["Today", "odd"],
      ["Work", "tax"],
      ["Today", "today"],
      ["Yesterday", "before"],
      ["Last 7 days", "week"],
      ["Earlier", "old"],
    ],
  );
  assert.deepEqual(archivedOf(all).map(nameOf), ["away"]);
  const searched = grouped(all, now, true).find(({ key }) => key === "Today");
  assert.deepEqual(searched.sessions.map(nameOf), ["today", "away"], "a search finds what is archived");
});

test("pasted cells become a table of Markdown", () => {
  const rows = [["Name", " Sum\n(€) "], ["a|b", "1"], ["", ""], ["c\\d"]];
  assert.equal(markdownTable(rows), "| Name | Sum (€) |\n| --- | --- |\n| a\\|b | 1 |\n| c\\\\d |  |");
  assert.equal(markdownTable([["one cell"]]), "");
  assert.equal(markdownTable([["one"], ["column"]]), "", "a list is no table");
  assert.equal(markdownTable([]), "");
});

test("amounts and times read well", () => {
  assert.deepEqual([money(0), money(0.00001), money(0.0073), money(1.5)], ["$0", "< $0.0001", "$0.0073", "$1.50"]);
  assert.deepEqual([countdown(65), countdown(-3)], ["1:05", "0:00"]);
  assert.deepEqual([duration(12), duration(2310), duration(3600000 * 3)], ["12 ms", "2.3 s", "3 h 0 min"]);
});

test("characters that do not show are found, letters of the world are not", () => {
  for (const odd of ["rm\u202e", "a\u200bb", "\u0007", "\ufeff", "\u{e0041}", { command: "x\u2066" }])
    assert.ok(hasOddCharacters(odd), JSON.stringify(odd));
  for (const plain of ["rm -rf ./a\n\tb", "Grüße, 你好, مرحبا, 👍 ❤️ 👩‍💻", { path: "ä" }])
    assert.ok(!hasOddCharacters(plain), JSON.stringify(plain));
});

test("an edit is shown as a change between what stays", () => {
  assert.equal(asChange({ old: "a\nb\nc", new: "a\nx\nc" }), " a\n-b\n+x\n c");
  assert.equal(asChange({ old: "a", new: "a\nb" }), " a\n+b");
  assert.equal(asChange({ path: "x" }), null);
});

test("a tool's short input is its first word on the matter", () => {
  assert.equal(brief({ path: "notes/plan.md", limit: 3 }), "notes/plan.md");
  assert.equal(brief({}), "");
  assert.equal(brief({ timeout_seconds: 5, cwd: "src", command: "make  all\n" }), "make all");
  assert.equal(brief({ content: "long text", path: "a.txt" }), "a.txt");
  assert.equal(brief({ channel: "webchat", text: "done", recipient: "ada" }), "done");
  assert.equal(brief({ path: "", zone: "Europe/Berlin" }), "Europe/Berlin");
  assert.equal(lastLines("1\n2\n3\n4\n5\n6\n7\n8\n"), "3\n4\n5\n6\n7\n8");
  assert.equal(lastLines(undefined), "");
});

test("text is distinguished from binary", () => {
  assert.ok(isText(new TextEncoder().encode("Grüße\n")));
  assert.ok(!isText(new Uint8Array([0x89, 0x50, 0, 1])));
  assert.ok(!isText(new Uint8Array([0xff, 0xfe, 0x41])));
});

test("usage has a sum for every day, also for those on which nothing happened", () => {
  const row = (day, cost_usd) => ({ day, cost_usd, input_tokens: 10, output_tokens: 5 });
  const sums = sumsByDay(
    [row("2026-11-20", 0.5), row("2026-11-20", 0.25), row("2026-11-18", 1), row("2026-10-01", 9)],
    "2026-11-20",
    3,
  );
  assert.deepEqual(sums, [
    { day: "2026-11-18", cost: 1, tokens: 15 },
    { day: "2026-11-19", cost: 0, tokens: 0 },
    { day: "2026-11-20", cost: 0.75, tokens: 30 },
  ]);
  assert.equal(most(sums, "tokens").day, "2026-11-20");
  assert.deepEqual(sumsByDay([], "no day", 3), []);
});

test("a share that is there is never shown as none", () => {
  assert.deepEqual(
    [percent(0, 5), percent(1, 100000), percent(1, 2), percent(7, 5), percent(1, 0)],
    [0, 1, 50, 100, 0],
  );
});

test("a message larger than a frame is refused before sending, by its encoded bytes", () => {
  const file = (length) => ({ name: "a.txt", mime: "text/plain", data: "x".repeat(length), text: "never sent" });
  for (const [text, files] of [
    ["x".repeat(1040000), []],
    ["", [file(1040000)]],
    ["ü".repeat(500000), []],
  ])
    assert.ok(fits(text, files));
  for (const [text, files] of [
    ["x".repeat(1050000), []],
    ["x".repeat(600000), [file(600000)]],
    ["ü".repeat(600000), []],
    ["\n".repeat(600000), []],
  ])
    assert.ok(!fits(text, files));
});

test("what follows a turn is counted", () => {
  const turns = ["a", "b", "c"].map((key) => ({ key }));
  assert.deepEqual(
    turns.map((turn) => countAfter(turns, turn)),
    [2, 1, 0],
  );
  assert.equal(countAfter(turns, { key: "gone" }), 0);
});

test("spoken text pauses between list items and is split between sentences", () => {
  const node = (nodeName, ...childNodes) => ({ nodeName, childNodes, textContent: null });
  const text = (textContent) => ({ nodeName: "#text", childNodes: [], textContent });
  const list = node(
    "UL",
    node("LI", text("eggs")),
    text("\n"),
    node("LI", node("P", text("flour, "), node("STRONG", text("fine"))), node("UL", node("LI", text("or not?")))),
  );
  assert.deepEqual(spokenLines(node("DIV", node("P", text("To buy:")), list)), ["To buy: eggs. flour, fine. or not?"]);
  const sentence = "This is a sentence of some length, as people write them.";
  const lines = inSentences(Array(40).fill(sentence).join(" "));
  assert.ok(
    lines.length > 1 && lines.every((line) => line.length <= 600 && line.startsWith("This") && line.endsWith("them.")),
    lines,
  );
  assert.equal(inSentences("word ".repeat(400).trim()).join(" "), "word ".repeat(400).trim());
});

test("names in backticks are separated from the sentence around them", () => {
  const read = (text) =>
    sentencePieces(text)
      .map(({ text: piece, isCode }) => (isCode ? `<${piece}>` : piece))
      .join("");
  assert.equal(read("Set `model.api_key` in `config.toml`."), "Set <model.api_key> in <config.toml>.");
  for (const plain of ["a ` alone, <b>", "nothing ``", ""]) assert.equal(read(plain), plain);
});

test("a message is folded only where that saves more than a few lines", () => {
  for (const long of ["x\n".repeat(30), "word ".repeat(300)]) assert.ok(isLong(long));
  for (const short of ["x\n".repeat(15), "word ".repeat(100), ""]) assert.ok(!isLong(short));
});

test("only pictures of the four types are shown, and only from the bytes that came along", () => {
  for (const mime of ["image/png", "image/jpeg", "image/gif", "image/webp"])
    assert.equal(pictureSource({ mime, data: "AA+/" }), `data:${mime};base64,AA+/`);
  for (const mime of ["image/svg+xml", "text/html", "image/png;base64,x", "IMAGE/PNG", "", undefined])
    assert.equal(pictureSource({ mime, data: "AAAA" }), null);
  for (const data of ["", undefined, 7, "https://elsewhere.example/a.png", "AA,AA", "AA\n"])
    assert.equal(pictureSource({ mime: "image/png", data }), null);
});

test("what does not show is named in every text, whatever was looked at before", () => {
  assert.equal(hasOddCharacters({ path: "a\u202eb" }), true);
  for (let round = 0; round < 3; round += 1) {
    assert.equal(visibleText("\u200brm \u202e-rf"), "U+200Brm U+202E-rf");
    assert.deepEqual(visiblePieces("x\u{e0041}"), [
      { text: "x", isOdd: false },
      { text: "U+E0041", isOdd: true },
    ]);
  }
  assert.equal(hasOddCharacters({ "a\u200b": 1 }), true, "in a name");
  assert.equal(hasOddCharacters({ deep: [{ text: "\u2066" }] }), true);
  assert.equal(hasOddCharacters({ plain: ["text\n", 1, null] }), false);
  assert.equal(visibleText("👩‍👩‍👧 ❤️"), "👩‍👩‍👧 ❤️");
});

test("long code is cut into chunks that together are the code", () => {
  const lines = "let x = 1;\n".repeat(20000);
  const line = "x".repeat(150000);
  for (const text of ["", "short\n", lines, line, `${lines}${line}\n${lines}`])
    assert.equal(
      chunksOf(text)
        .map((chunk) => chunk.text)
        .join(""),
      text,
    );
  assert.equal(chunksOf("short\n").length, 1);
  assert.ok(chunksOf(lines).every((chunk) => chunk.text.length <= 60000 && chunk.lines <= 200));
});

test("a worker that cannot be started leaves code plain and is not retried endlessly", async () => {
  let made = 0;
  const worker = new BoundedWorker(() => {
    made += 1;
    throw new Error("forbidden");
  });
  for (let round = 0; round < 5; round += 1)
    assert.equal(await worker.ask({ language: "x", text: String(round) }), null);
  assert.equal(made, 3);
});

test("a worker that takes too long is ended, its text is not tried again, and the next question is answered", async () => {
  let made = 0;
  let ended = 0;
  const worker = new BoundedWorker(
    () => {
      made += 1;
      const target = new EventTarget();
      const isFirst = made === 1;
      return Object.assign(target, {
        postMessage: ({ id, text }) => {
          const say = (data) => target.dispatchEvent(Object.assign(new Event("message"), { data: { id, ...data } }));
          queueMicrotask(() => {
            say({ hasBegun: true });
            if (!isFirst) say({ pieces: [text] });
          });
        },
        terminate: () => (ended += 1),
      });
    },
    { workMs: 50, loadMs: 60000 },
  );
  const answers = await Promise.all(["a", "b", "c"].map((text) => worker.ask({ language: "x", text })));
  answers.push(await worker.ask({ language: "x", text: "a" }));
  assert.deepEqual([answers, made, ended], [[null, ["b"], ["c"], null], 2, 1]);
});

test("times go by the server's clock, not by a device's that is hours off", () => {
  const hours = 2 * 3600 * 1000;
  const written = new Date(Date.now() + hours - 90000).toISOString();
  try {
    assert.equal(ago(written), "in 1 hour");
    learn(new Date(Date.now() + hours).toUTCString());
    assert.equal(ago(written), "1 minute ago");
    learn(null);
    learn("yesterday");
    assert.equal(ago(written), "1 minute ago", "an answer without a time changes nothing");
    learn(new Date(Date.now() - hours).toUTCString());
    assert.ok(Math.abs(now() - (Date.now() - hours)) < 1500);
  } finally {
    learn(new Date().toUTCString());
  }
  assert.ok(Math.abs(now() - Date.now()) < 20, "the whole seconds of the header are no difference");
});

test("of a long conversation only what is near the view is drawn", () => {
  const heights = Array(100).fill(90);
  const layout = { heights, gap: 10, top: 5000, height: 1000 };
  const numbers = (/** @type {boolean[]} */ drawn) => drawn.flatMap((is, index) => (is ? [index] : []));
  const none = numbers(chooseDrawn(layout, () => false, () => false));
  assert.deepEqual([none[0], none.at(-1)], [35, 75]);
  assert.equal(none.length, 41);
  const drawn = numbers(chooseDrawn(layout, () => true, (index) => index === 3));
  assert.deepEqual([drawn[0], drawn[1], drawn.at(-1)], [3, 20, 90], "what is drawn stays longer, and what is in use stays");
  const short = chooseDrawn({ ...layout, heights: heights.slice(60) }, () => false, () => false);
  assert.ok(short.every(Boolean), "a short conversation is drawn whole");
});

test("a height of the column is an exchange and a part of it", () => {
  const layout = { heights: [100, 200, 50], gap: 10 };
  assert.deepEqual(exchangeAt(layout, 0), { index: 0, part: 0 });
  assert.deepEqual(exchangeAt(layout, 210), { index: 1, part: 0.5 });
  assert.deepEqual(exchangeAt(layout, 9999), { index: 2, part: 1 });
  assert.deepEqual(exchangeAt({ heights: [], gap: 10 }, 5), { index: -1, part: 0 });
  assert.deepEqual([0, 1, 2].map((index) => beginOf(layout, index)), [0, 110, 320]);
});

test("words are found whole where they begin with one looked for, whatever their case and accents", () => {
  const found = (/** @type {string} */ text, /** @type {string} */ query) =>
    placesOf(text, wordsOf(query).map((word) => word.text)).map(([from, to]) => text.slice(from, to));
  assert.deepEqual(placesOf("Lyon to LYON and Paris", ["paris", "lyon"]), [
    [0, 4],
    [8, 12],
    [17, 22],
  ]);
  assert.deepEqual(found("token1 token25 token26, tok ken betoken", "token"), ["token1", "token25", "token26"]);
  assert.deepEqual(found("Der Rhein fließt durch Köln", "kol, RHE"), ["Rhein", "Köln"]);
  assert.deepEqual(found("Cafe\u0301, cafés und Kaffee", "CAFÉ"), ["Cafe\u0301", "cafés"]);
  assert.deepEqual(found("今日は東京へ", "東京"), ["東", "京"]);
  assert.deepEqual(found("v東京2 v2", "v2"), ["v2"]);
  assert.deepEqual(found("\u0130stanbul", "stanbul"), [], "a letter that grows in lower case gives no wrong place");
  assert.deepEqual(found("\u0130stanbul", "istanbul"), ["\u0130stanbul"]);
  assert.deepEqual(found("anything", "… —"), []);
});

test("a slash opens the menu at the beginning of a message only, while its name is written", () => {
  assert.equal(typedName("/", 1), "");
  assert.equal(typedName("/Week", 5), "week");
  assert.equal(typedName("/week", 2), null, "the cursor is elsewhere");
  assert.equal(typedName("/week now", 9), null);
  assert.equal(typedName("see /week", 9), null);
});

test("the slash menu puts names that begin with what was typed first", () => {
  const choices = [
    { name: "new", group: "commands" },
    { name: "renew", group: "prompts" },
    { name: "news", group: "prompts" },
    { name: "other", group: "sops" },
  ];
  assert.deepEqual(
    matching(choices, "new").map(({ name }) => name),
    ["new", "news", "renew"],
  );
  assert.deepEqual(
    matching(choices, "ren").map(({ name }) => name),
    ["renew"],
  );
});

test("a message is held back only if its first word could be the name of a command", () => {
  assert.deepEqual(["/hepl", "/Trip to Rome", "/x\ny"].map(commandIn), ["hepl", "trip", "x"]);
  for (const other of ["hello", "/", "/etc/hosts", "//hepl", "/ a", "/a.txt", "see /new"]) assert.equal(commandIn(other), null, other);
  assert.deepEqual(["//hepl me", "// a note", "///", "/hepl", "https://a"].map(withoutEscape), ["/hepl me", "// a note", "///", "/hepl", "https://a"]);
  const known = ["new", "find", "export", "trip"];
  assert.deepEqual(["fnid", "exprot", "trips", "zzzzzz", "nw"].map((name) => nearest(name, known)), ["find", "export", "trip", "", "new"]);
  assert.equal(nearest("a", []), "");
});

test("what is to be filled in is selected", () => {
  assert.deepEqual(placeholder("Plan {{day}} now"), [5, 12]);
  assert.deepEqual(placeholder("Plan"), [4, 4]);
  const parameter = (/** @type {string} */ name, required = true) => ({ name, required, default: null, description: "" });
  assert.deepEqual(callOf({ name: "a", parameters: [parameter("x"), parameter("y", false)] }), ["/a ", 3, 3]);
  assert.deepEqual(callOf({ name: "a", parameters: [parameter("x"), parameter("y")] }), ['/a x="" y=""', 6, 6]);
});
