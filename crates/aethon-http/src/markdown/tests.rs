//! What Markdown becomes, what hostile Markdown cannot become, and that following a growing text yields the same
//! result as rendering the whole.

use std::time::{Duration, Instant};

use super::*;

#[track_caller]
pub(super) fn check(markdown: &str, expected: &str) {
    assert_eq!(render(markdown), expected, "{markdown:?}");
}

#[test]
fn text_and_emphasis() {
    check("", "");
    check("\n\n", "");
    check("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>");
    check("a\nb", "<p>a\nb</p>");
    check("a  \nb", "<p>a<br>b</p>");
    check("> q\n\n---", "<blockquote><p>q</p></blockquote><hr>");
    check("a & b < c > \"d\" 'e'", "<p>a &amp; b &lt; c &gt; &quot;d&quot; &#39;e&#39;</p>");
    check("a<br>b<BR />c", "<p>a<br>b<br>c</p>");
    check("nul\0byte", "<p>nul\u{fffd}byte</p>");
}

#[test]
fn emphasis_and_addresses_of_all_scripts_are_recognised() {
    let has = |markdown: &str, expected: &str| {
        let html = render(markdown);
        assert!(html.contains(expected) && !html.contains("**"), "{markdown:?}: {html}");
    };
    has("这是**我想做的事。**所以继续。", "<strong>我想做的事。</strong>");
    has("これは**「重要なこと」**です。", "<strong>「重要なこと」</strong>");
    has("**마크다운(Markdown)**을 사용하세요.", "<strong>마크다운(Markdown)</strong>");
    has("**复现：**10 轮对话", "<strong>复现：</strong>");
    has("~~删除的文字（带括号）。~~这个句子", "<del>删除的文字（带括号）。</del>");
    has("นี่คือ**คำ (ใหม่)**ครับ", "<strong>คำ (ใหม่)</strong>");
    let leads = |markdown: &str, address: &str| {
        let html = render(markdown);
        assert!(
            html.contains(&format!("href=\"{address}\"")) && !html.contains("**"),
            "{markdown:?}: {html}"
        );
    };
    leads("见 https://example.com/a?b=1，谢谢", "https://example.com/a?b=1");
    leads("访问 https://example.com/docs（说明）了解", "https://example.com/docs");
    leads("句: https://example.com/foo。次の文。", "https://example.com/foo");
    leads("链接：**https://example.com/x**。做", "https://example.com/x");
    leads("看https://example.com/x查看", "https://example.com/x");
    leads("https://ja.wikipedia.org/wiki/東京。", "https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC");
}

#[test]
fn headings_stand_below_those_of_the_page() {
    check("# a", "<h3 class=\"depth-1\">a</h3>");
    check("## a", "<h4 class=\"depth-2\">a</h4>");
    check("a\n===", "<h3 class=\"depth-1\">a</h3>");
    check("###### a", "<h6 class=\"depth-6\">a</h6>");
}

#[test]
fn lists_and_tasks() {
    check("- a\n- b", "<ul><li>a</li><li>b</li></ul>");
    check("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>");
    check("3. a\n   - b", "<ol start=\"3\"><li>a<ul><li>b</li></ul></li></ol>");
    check(
        "- [x] a\n- [ ] b",
        "<ul><li class=\"task\"><input type=\"checkbox\" disabled checked aria-label=\"Done\">a</li>\
         <li class=\"task\"><input type=\"checkbox\" disabled aria-label=\"Not done\">b</li></ul>",
    );
}

#[test]
fn tables_scroll_in_a_box_of_their_own() {
    check(
        "| a | b |\n|--:|:-:|\n| 1 | 2 |\n| 3 | 4 |",
        "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\
         <thead><tr><th scope=\"col\" align=\"right\">a</th><th scope=\"col\" align=\"center\">b</th></tr></thead>\
         <tbody><tr><td align=\"right\">1</td><td align=\"center\">2</td></tr>\
         <tr><td align=\"right\">3</td><td align=\"center\">4</td></tr></tbody></table></div>",
    );
}

#[test]
fn code_names_its_language() {
    check(
        "```rust\nlet a = 1 < 2;\n```",
        "<pre><code class=\"language-rust\">let a = 1 &lt; 2;\n</code></pre>",
    );
    check("```C++ title=x\na\n```", "<pre><code class=\"language-c++\">a\n</code></pre>");
    check("```rust,ignore\na\n```", "<pre><code class=\"language-rust\">a\n</code></pre>");
    check("```\na\n```", "<pre><code>a\n</code></pre>");
    check("    a", "<pre><code>a\n</code></pre>");
    check("```<script>\na\n```", "<pre><code class=\"language-script\">a\n</code></pre>");
    check("```x\"onload=alert(1)\na\n```", "<pre><code class=\"language-xonloadalert1\">a\n</code></pre>");
}

#[test]
fn links_say_where_they_lead() {
    const END: &str = "rel=\"noopener noreferrer\" target=\"_blank\">";
    check(
        "[bank](https://evil.example/a)",
        &format!(
            "<p><a href=\"https://evil.example/a\" {END}bank</a><span class=\"host\">evil.example</span></p>"
        ),
    );
    check(
        "https://a.example/b?c=1&d=2",
        &format!(
            "<p><a href=\"https://a.example/b?c=1&amp;d=2\" {END}https://a.example/b?c=1&amp;d=2</a></p>"
        ),
    );
    check("www.a.example", &format!("<p><a href=\"http://www.a.example/\" {END}www.a.example</a></p>"));
    check("<me@a.example>", &format!("<p><a href=\"mailto:me@a.example\" {END}me@a.example</a></p>"));
    check(
        "[a][b]\n\n[b]: https://c.example/ \"t\"",
        &format!(
            "<p><a href=\"https://c.example/\" title=\"t\" {END}a</a><span class=\"host\">c.example</span></p>"
        ),
    );
}

#[test]
fn pictures_are_links_to_themselves() {
    const END: &str = "rel=\"noopener noreferrer\" target=\"_blank\">";
    check(
        "![alt *text*](https://a.example/i.png?leak=1)",
        &format!(
            "<p><a href=\"https://a.example/i.png?leak=1\" {END}alt text</a><span class=\"host\">a.example</span></p>"
        ),
    );
    check(
        "[![alt](https://a.example/i.png)](https://b.example)",
        &format!("<p><a href=\"https://b.example/\" {END}alt</a><span class=\"host\">b.example</span></p>"),
    );
    check("![alt](data:image/png;base64,AAAA)", "<p>alt</p>");
    check("![](javascript:alert(1))", "<p>image</p>");
}

/// Inputs that try to become more than text. The output must contain only our tags with only our attributes.
const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "a <script>alert(1)</script> b",
    "<img src=x onerror=alert(1)>",
    "text <img src=x onerror=alert(1)> text",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)//",
    "<math><mtext></table><img src onerror=alert(1)>",
    "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    "<style>@import '//evil.example'</style>",
    "<base href=//evil.example>",
    "<form action=//evil.example><input name=a></form>",
    "<details open ontoggle=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<!-- --><script>alert(1)</script>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?php <img src=x onerror=alert(1)> ?>",
    "<!DOCTYPE html><script>alert(1)</script>",
    "</p></div><script>alert(1)</script>",
    "<br onclick=alert(1)>",
    "<br/onclick=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x]( javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](< javascript:alert(1)>)",
    "[x](<java\tscript:alert(1)>)",
    "[x](java&#10;script:alert(1))",
    "[x](java&Tab;script:alert(1))",
    "[x](java&NewLine;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](&#0000106avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](javascript&#58;alert(1))",
    "[x](\u{1}javascript:alert(1))",
    "[x](&#1;javascript:alert(1))",
    "[x](\u{200b}javascript:alert(1))",
    "[x](java\0script:alert(1))",
    "[x](java\\script:alert(1))",
    "[x](javascript://https://a.example/%0aalert(1))",
    "[x](javascript:https://a.example)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](DATA:image/svg+xml,<svg/onload=alert(1)>)",
    "[x](vbscript:msgbox(1))",
    "[x](VBScript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](blob:https://a.example/1)",
    "[x](view-source:https://a.example)",
    "[x](ftp://a.example)",
    "[x](tel:+123)",
    "[x](//evil.example)",
    "[x](/\\evil.example)",
    "[x](/api/config)",
    "[x](#fragment)",
    "[x](?token=1)",
    "[x](https:evil.example)",
    "[x](https:/evil.example)",
    "[x](https:\\\\evil.example)",
    "[x](https://)",
    "[x](http:// evil.example)",
    "[x](https://a.example\" onmouseover=\"alert(1))",
    "[x](<https://a.example\" onmouseover=\"alert(1)>)",
    "[x](<https://a.example/\" onmouseover=\"alert(1)>)",
    "[x](https://a.example/\"onmouseover=alert(1))",
    "[x](https://a.example/'onmouseover=alert(1))",
    "[x](https://a.example/&quot;onmouseover=alert&#40;1&#41;)",
    "[x](https://a.example \"t\\\" onmouseover=alert(1) x=\\\"\")",
    "[x](https://a.example '\"><script>alert(1)</script>')",
    "[x](https://a.example (\"onclick=alert(1)))",
    "[x](https://a.example \"&quot; onclick=alert(1)\")",
    "[x](https://a.example/`\"onclick=alert(1)`)",
    "[<img src=x onerror=alert(1)>](https://a.example)",
    "[`<script>`](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "![x\" onerror=\"alert(1)](https://a.example/x)",
    "![<script>alert(1)</script>](https://a.example/x)",
    "![x](https://a.example/x\" onerror=\"alert(1))",
    "![x](https://a.example/x \"\\\" onerror=alert(1)\")",
    "![x](data:image/svg+xml;base64,PHN2Zy8+)",
    "[a]: javascript:alert(1)\n\n[a]",
    "[a]: <javascript:alert(1)>\n\n[x][a] ![y][a]",
    "[a]: data:text/html,x \"title\"\n\n[a][]",
    "[a]: https://a.example \"\\\" onclick=alert(1)\"\n\n[a]",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "<vbscript:x>",
    "<https://a.example/\"onclick=alert(1)>",
    "<https://a.example/'onclick=alert(1)>",
    "https://a.example/\"onclick=alert(1)",
    "https://a.example/<script>alert(1)</script>",
    "https://a.example/?a='><script>alert(1)</script>",
    "www.a.example\"onclick=alert(1)",
    "javascript:alert(1)",
    "me@a.example\"onclick=alert(1)",
    "<me@a.example\"onclick=alert(1)>",
    "[x](mailto:a@b.example?body=\"><script>alert(1)</script>)",
    "[x](mailto:javascript:alert(1))",
    "[[x](javascript:alert(1))](https://a.example)",
    "[![x](javascript:alert(1))](javascript:alert(2))",
    "![![x](https://a.example/1)](https://a.example/2)",
    "[a https://b.example c](https://d.example)",
    "```\"><script>alert(1)</script>\nx\n```",
    "```x\" onclick=\"alert(1)\nx\n```",
    "```x' onclick='alert(1)\nx\n```",
    "```&quot;&gt;&lt;script&gt;\nx\n```",
    "~~~ \u{0}\"><img src=x onerror=alert(1)>\nx\n~~~",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    "    </code></pre><script>alert(1)</script>",
    "# <img src=x onerror=alert(1)>",
    "| <script>alert(1)</script> | [x](javascript:alert(1)) |\n|---|---|\n| <img src=x onerror=alert(1)> | ![y](data:x) |",
    "| a\" onclick=alert(1) |\n|:-:|",
    "- [x] <script>alert(1)</script>",
    "- [ \" onclick=alert(1) ] x",
    "99999999999999999999. <script>alert(1)</script>",
    "> <script>\n> alert(1)\n> </script>",
    "*<script>*alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\<script>alert(1)</script>",
    "<script\n>alert(1)</script\n>",
    "<scr\0ipt>alert(1)</scr\0ipt>",
    "<a\u{a0}href=javascript:alert(1)>x</a>",
    "<x onclick=alert(1)>",
    "<sub onclick=alert(1)>x</sub>",
    "<sub/onclick=alert(1)>x</sub>",
    "<kbd>x</kbd onclick=alert(1)>",
    "<sup><script>alert(1)</script></sup>",
    "<sub>*</sub>*",
    "<sub><sub><sub><sub><sub><sub><sub><sub><sub><sub>x</sub>",
    "<details onclick=alert(1)>\n<summary>x</summary>\n\ny\n\n</details>",
    "<details>\n<summary onclick=alert(1)>x</summary>\n\ny\n\n</details>",
    "<details><summary><img src=x onerror=alert(1)><b>y</i></summary>\n<script>alert(1)</script>\n</details>",
    "<details open=\"\" onclick=alert(1)>\n\nx\n\n</details>",
    "<details>\n\n<details>\n\n- <details>\n\nx",
    "</details></summary>\n\n</details>",
    "<summary>x</summary>\n\n<details><summary>y<details>z</summary>",
    "[^\"onclick=alert(1)]\n\n[^\"onclick=alert(1)]: <script>alert(1)</script>",
    "[^<script>]\n\n[^<script>]: x",
    "> [!NOTE] <script>alert(1)</script>\n> x",
    "> [!WARNING] &lt;img src=x onerror=alert(1)&gt; \"onclick=alert(1)\n> x",
    "> [!NOTE\" onclick=alert(1)]\n> x",
    "\u{627}<script>alert(1)</script>",
    "{\"type\":\"done\",\"html\":\"<script>alert(1)</script>\"}",
];

/// The elements that the renderer writes.
pub(crate) const TAGS: &[&str] = &[
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "input",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];
/// The attributes that the renderer writes.
pub(crate) const ATTRIBUTES: &[&str] = &[
    "href",
    "title",
    "rel",
    "target",
    "class",
    "start",
    "type",
    "disabled",
    "checked",
    "aria-label",
    "tabindex",
    "role",
    "scope",
    "align",
    "dir",
    "open",
];

/// Parses the output and rejects everything that the renderer does not write on purpose.
#[track_caller]
fn assert_inert(markdown: &str) {
    let html = render(markdown);
    let mut rest = html.as_str();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains(['>', '"', '\'']), "stray character: {markdown:?} -> {html}");
        let end = rest[at..].find('>').unwrap_or_else(|| panic!("open tag: {markdown:?} -> {html}")) + at;
        let tag = rest[at + 1..end].trim_start_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(TAGS.contains(&name), "tag {name}: {markdown:?} -> {html}");
        while !attributes.is_empty() {
            let stop = attributes.find(['=', ' ']).unwrap_or(attributes.len());
            let name = &attributes[..stop];
            assert!(ATTRIBUTES.contains(&name), "attribute {name}: {markdown:?} -> {html}");
            attributes = &attributes[stop..];
            if let Some(quoted) = attributes.strip_prefix("=\"") {
                let close = quoted.find('"').unwrap_or_else(|| panic!("open quote: {markdown:?} -> {html}"));
                let value = &quoted[..close];
                assert!(!value.contains('<'), "{markdown:?} -> {html}");
                if name == "href" {
                    let is_allowed =
                        ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme));
                    assert!(is_allowed, "href {value}: {markdown:?} -> {html}");
                }
                attributes = &quoted[close + 1..];
            }
            attributes = attributes.trim_start();
        }
        rest = &rest[end + 1..];
    }
    assert!(!rest.contains(['>', '"', '\'']), "stray character: {markdown:?} -> {html}");
}

#[test]
fn hostile_markdown_is_inert() {
    for markdown in HOSTILE {
        assert_inert(markdown);
        assert_inert(&format!("> - {markdown}"));
        assert_inert(&format!("before {markdown} after"));
        assert_inert(&format!("**{markdown}**\n\n{markdown}\n{markdown}"));
        assert_inert(&markdown.to_uppercase());
        assert_inert(&markdown.replace('(', "(\r\n"));
    }
}

#[test]
fn other_schemes_are_text() {
    check("[x](javascript:alert(1))", "<p>x</p>");
    check("[x](JAVA&#10;SCRIPT:alert(1))", "<p>x</p>");
    check("[x](/api/config)", "<p>x</p>");
    check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
    check("a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>");
}

#[test]
fn pathological_text_is_bounded_in_time_and_size() {
    let table = format!("{}\n{}\n{}", "|a".repeat(2000), "|-".repeat(2000), "|b\n".repeat(20_000));
    let inputs = [
        "[".repeat(50_000),
        "*a **b ".repeat(20_000),
        "*".repeat(50_000) + "a" + &"*".repeat(50_000),
        ">".repeat(50_000) + "a",
        "> ".repeat(20_000) + "a\n" + &"b\n".repeat(20_000),
        "- ".repeat(20_000) + "a\n" + &"\n".repeat(100_000),
        (0..2000).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect(),
        "![".repeat(30_000) + "a" + &"](https://a.example)".repeat(30_000),
        "`a".repeat(50_000),
        "<".repeat(100_000),
        "<a ".repeat(50_000),
        "<!-- ".repeat(50_000),
        "\u{0}".repeat(100_000),
        "&".repeat(100_000),
        "a@".repeat(50_000),
        "www.".repeat(50_000),
        "https://".repeat(30_000),
        "[a]: https://a.example\n".repeat(20_000) + &"[a]".repeat(20_000),
        table,
        "_a_ ".repeat(100_000),
        "\\".repeat(100_000),
        "$a ".repeat(60_000),
        "$$a$ ".repeat(40_000),
        "$5, or 6$ ".repeat(20_000),
        "\\(a ".repeat(50_000),
        "\\[see\\] ".repeat(20_000),
        "# a\n".repeat(50_000),
        "a\n\n".repeat(200_000),
        "x".repeat(3 << 20),
    ];
    for input in inputs {
        let started = Instant::now();
        let html = render(&input);
        let head: String = input.chars().take(20).collect();
        assert!(started.elapsed() < Duration::from_secs(8), "{head:?} took {:?}", started.elapsed());
        assert!(html.len() <= input.len() * 24 + (128 << 10), "{head:?} grew to {}", html.len());
    }
}

const GROWING: &[&str] = &[
    "# Title\n\nA *paragraph* with [a link](https://a.example) and\na second line.\n\n- one\n- two\n  - deep\n\n\
     3. three\n4. four\n\n```rust\nfn main() {\n\n    let a = 1;\n}\n```\nafter\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\n\nend",
    "a\r\nb\r\n\r\nc\rd\r\r# e\r\n",
    "line\n===\nother\n---\n***\n> quote\nlazy\n>\n> more\n\nx",
    "x\n| a | b |\n|---|---|\n| c |\ny\n\n| not | a table |\n\n- a\n\n\n- b\n+ c\n1) d\n2. e",
    "<div>\n*raw*\n\n</div>\n\n<!-- a\n\nb --> c\n\n    code\n\n    more\n\n~~~\nopen",
    "a $x^2$ b $5, or 6$ c\n\n$$\ny = 1\n$$\n\n\\[\nz = 2\n\\]\n\n- \\(a\\) and \\[note\\]\n\n```math\nq\n```\n",
    "- [ ] a\n- [x] b\n\n\u{feff}text \u{feff}\n\nüñï ⟦x⟧ 😀\n\n😀\n***\n",
    "  para\n   indented\n\n    code\n\ttab\n\n1. a\n\n   b\n2. c\n\n\n\n   not in list?\n# h #\n## h2\ntext",
    "a\n\n<details>\n<summary>More</summary>\n\n- b\n\n```\nc\n```\n\n</details>\n\nd\n\n<details open>\n\nmore\n\nto come",
    "> [!NOTE]\n> a\n> b\n\n> [!TIP] Title\n>\n> - c\n\nH<sub>2</sub>O <kbd>a</kbd> <b>c\n\nمرحبا\n\n- שלום\n- b",
    "a\n\n* * *\n\n- b\n\n      c\n\n  d\n- - e\n- 1. f\n\n***bold***\n\n**open\n\n`open\n\n[open](https://x",
];

/// A small generator with a fixed seed, so that failures are reproducible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// Follows `text` in random pieces, as a page would, and returns the blocks that the page shows.
fn followed(text: &str, dice: &mut Dice) -> (Vec<String>, String) {
    let mut page: Vec<String> = Vec::new();
    let mut incremental = Incremental::default();
    let mut rest = text;
    while !rest.is_empty() {
        let mut cut = (1 + dice.below(12)).min(rest.len());
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        incremental.push(&rest[..cut]);
        rest = &rest[cut..];
        if dice.below(3) > 0
            && let Some((from, html)) = incremental.changes()
        {
            assert!(from <= page.len());
            page.splice(from.., html);
        }
    }
    if let Some((from, html)) = incremental.changes() {
        page.splice(from.., html);
    }
    let streamed = page.clone();
    let finished = incremental.finish(text);
    if let Some(html) = finished.changed {
        page.splice(finished.from.., html);
    }
    assert_eq!(page.concat(), finished.html);
    (streamed, finished.html)
}

#[test]
fn following_a_growing_text_ends_at_the_whole() {
    let mut dice = Dice(7);
    for text in GROWING.iter().chain(HOSTILE) {
        for _ in 0..60 {
            let (streamed, html) = followed(text, &mut dice);
            assert_eq!(html, render(text), "{text:?}");
            if !text.contains("]:") {
                assert_eq!(streamed, blocks(text), "{text:?}");
            }
        }
    }
}

#[test]
fn following_random_markdown_ends_at_the_whole() {
    const PIECES: &[&str] = &[
        "a",
        "b c",
        "\n",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "```",
        "~~~\n",
        "    ",
        "  ",
        "\t",
        "|",
        "|-|\n",
        "---",
        "===",
        "*",
        "**",
        "`",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "[x](https://y.example)",
        "https://y.example/东，",
        "（东）",
        "ครับ",
        "![",
        "]",
        "\r\n",
        "\r",
        "- [ ] ",
        "+",
        "\\",
        "<pre>",
        "<details>\n",
        "</details>\n",
        "<summary>",
        "$",
        "$$",
        "\\(",
        "\\]",
        "<sub>",
        "</sub>",
        "> [!NOTE]\n",
        "ש",
        "<x>",
        "***\n",
        "é",
        "0) ",
    ];
    let mut dice = Dice(11);
    for _ in 0..4000 {
        let text: String = (0..dice.below(30)).map(|_| PIECES[dice.below(PIECES.len())]).collect();
        let (streamed, html) = followed(&text, &mut dice);
        assert_eq!(html, render(&text), "{text:?}");
        assert_eq!(streamed, blocks(&text), "{text:?}");
        assert_inert(&text);
    }
}

#[test]
fn a_growing_text_keeps_its_tail_only() {
    let mut incremental = Incremental::default();
    for number in 0..1000 {
        incremental.push(&format!("paragraph {number}\n\n"));
        let (from, html) = incremental.changes().expect("a new block");
        assert_eq!((from, html.len()), (number, 1));
    }
    assert!(incremental.changes().is_none());
}
