//! What goes beyond plain Markdown: directions, footnotes, alerts, and the few tags.

use super::blocks;
use super::tests::check;

#[test]
fn blocks_read_from_right_to_left_say_so() {
    check("مرحبا", "<p dir=\"rtl\">مرحبا</p>");
    check("שלום world", "<p dir=\"rtl\">שלום world</p>");
    check("Hello مرحبا", "<p>Hello مرحبا</p>");
    check("مرحبا\n\nHello\n\n123", "<p dir=\"rtl\">مرحبا</p><p>Hello</p><p>123</p>");
    check("# عنوان", "<h3 class=\"depth-1\" dir=\"rtl\">عنوان</h3>");
    check("12. - שלום", "<ol start=\"12\" dir=\"rtl\"><li><ul><li>שלום</li></ul></li></ol>");
    check("- אחד\n- two", "<ul dir=\"rtl\"><li>אחד</li><li dir=\"ltr\">two</li></ul>");
    check("- one\n- שתיים", "<ul><li>one</li><li dir=\"rtl\">שתיים</li></ul>");
    check(
        "- [x] تم",
        "<ul dir=\"rtl\"><li class=\"task\"><input type=\"checkbox\" disabled checked aria-label=\"Done\">تم</li></ul>",
    );
    check(
        "> «مرحبا»\n>\n> Hello",
        "<blockquote dir=\"rtl\"><p>«مرحبا»</p><p dir=\"ltr\">Hello</p></blockquote>",
    );
    // Code is a foreign body: the sentence around it decides.
    check("`npm install` שלום", "<p dir=\"rtl\"><code>npm install</code> שלום</p>");
    check("שלום\n\n```\nאחד\n```", "<p dir=\"rtl\">שלום</p><pre><code>אחד\n</code></pre>");
    check("**\u{200f}1.** a", "<p dir=\"rtl\"><strong>\u{200f}1.</strong> a</p>");
    check(
        "| اسم | b |\n|---|---|\n| x | ٣ |",
        "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table dir=\"rtl\">\
         <thead><tr><th scope=\"col\">اسم</th><th scope=\"col\" dir=\"ltr\">b</th></tr></thead>\
         <tbody><tr><td dir=\"ltr\">x</td><td>٣</td></tr></tbody></table></div>",
    );
}

#[test]
fn footnotes_stand_where_they_are_written() {
    check(
        "a[^1] b[^why][^none]\n\n[^1]: One.\n[^why]: Two\n\n    more\n\nend",
        "<p>a<sup class=\"footnote-reference\">1</sup> b<sup class=\"footnote-reference\">why</sup>[^none]</p>\
         <div class=\"footnote\"><span class=\"footnote-name\">1</span><p>One.</p></div>\
         <div class=\"footnote\"><span class=\"footnote-name\">why</span><p>Two</p><p>more</p></div><p>end</p>",
    );
}

#[test]
fn formulas_are_written_as_their_source() {
    check("Let $x < 1$.", "<p>Let <code class=\"math\">x &lt; 1</code>.</p>");
    check("$$\nx^2\n$$", "<p><code class=\"math math-display\">x^2</code></p>");
    check(
        "so \\(a_1\\), \\[b = 1\\]",
        "<p>so <code class=\"math\">a_1</code>, <code class=\"math math-display\">b = 1</code></p>",
    );
    check("```math\n\\sqrt{2}\n```", "<p><code class=\"math math-display\">\\sqrt{2}</code></p>");
    check("$5 and $6", "<p>$5 and $6</p>");
    check("$x_1<script>$", "<p><code class=\"math\">x_1&lt;script&gt;</code></p>");
    check("שלום $x$", "<p dir=\"rtl\">שלום <code class=\"math\">x</code></p>");
}

#[test]
fn alerts_have_a_kind_and_a_title() {
    check(
        "> [!WARNING]\n> Careful *now*",
        "<div class=\"alert alert-warning\"><p class=\"alert-title\">Warning</p><p>Careful <em>now</em></p></div>",
    );
    check(
        "> [!tip] Do <this>\n> x",
        "<div class=\"alert alert-tip\"><p class=\"alert-title\">Do &lt;this&gt;</p><p>x</p></div>",
    );
    check("> [!OTHER]\n> x", "<blockquote><p>[!OTHER]\nx</p></blockquote>");
}

#[test]
fn few_inline_tags_are_markup_and_only_in_pairs() {
    check("H<sub>2</sub>O", "<p>H<sub>2</sub>O</p>");
    check("x<SUP>*n* + 1</SUP >", "<p>x<sup><em>n</em> + 1</sup></p>");
    check("<kbd>Ctrl</kbd> + <kbd>C</kbd>", "<p><kbd>Ctrl</kbd> + <kbd>C</kbd></p>");
    check("a <kbd> b", "<p>a &lt;kbd&gt; b</p>");
    check("a </kbd> b", "<p>a &lt;/kbd&gt; b</p>");
    check("<sub>a<sup>b</sub>c</sup>", "<p><sub>a&lt;sup&gt;b</sub>c&lt;/sup&gt;</p>");
    check("*<sub>a*</sub>", "<p><em>&lt;sub&gt;a</em>&lt;/sub&gt;</p>");
    check("a <u>b</u>", "<p>a &lt;u&gt;b&lt;/u&gt;</p>");
    check("`<sub>x</sub>`", "<p><code>&lt;sub&gt;x&lt;/sub&gt;</code></p>");
}

#[test]
fn details_fold_whole_blocks() {
    let one = "<details><summary>More <strong>of it</strong></summary><p>a</p><ul><li>b</li></ul></details>";
    let text = "<details>\n<summary>More <b>of it</b></summary>\n\na\n\n- b\n\n</details>";
    check(text, one);
    assert_eq!(blocks(&format!("x\n\n{text}\n\ny")), ["<p>x</p>", one, "<p>y</p>"]);
    check("<details open>\n\na\n\n</details>", "<details open><p>a</p></details>");
    check(
        "<details><summary>a</summary>b\nc</details>\n\nd",
        "<details><summary>a</summary><p>b<br>c</p></details><p>d</p>",
    );
    check(
        "<details>\n\na\n\n<details>\n\nb\n\n</details>\n\nc\n\n</details>\n\nd",
        "<details><p>a</p><details><p>b</p></details><p>c</p></details><p>d</p>",
    );
    // One that never ends hides nothing.
    check("<details>\n\na\n\nb", "<details open><p>a</p><p>b</p></details>");
    check("- <details>\n\n  a\n- b", "<ul><li><details open><p>a</p></details></li><li><p>b</p></li></ul>");
    check("</details>", "<p>&lt;/details&gt;</p>");
    check("<details> is an element", "<details open><p>is an element</p></details>");
    check("The <details> element", "<p>The &lt;details&gt; element</p>");
}
