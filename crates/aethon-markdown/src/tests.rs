//! Emphasis and addresses in texts of many languages, as they come out of the parsed tree.

use std::time::Instant;

use comrak::Arena;
use comrak::nodes::{Node, NodeValue};

use super::*;

/// Returns a text as it would be shown: `{b:bold}`, `{i:italic}`, `{s:struck}`, `{c:code}`, `{l:address}` for a link whose
/// words are its address, and `{l:address|words}`.
fn shown(source: &str) -> String {
    let arena = Arena::new();
    let document = parse(&arena, source, &|| false).unwrap();
    let mut out = String::new();
    for child in document.children() {
        inlines(child, &mut out);
    }
    out
}

fn inlines(node: Node<'_>, out: &mut String) {
    let mut children = String::new();
    node.children().for_each(|child| inlines(child, &mut children));
    match &node.data().value {
        NodeValue::Text(text) => out.push_str(text),
        NodeValue::Code(code) => out.push_str(&format!("{{c:{}}}", code.literal)),
        NodeValue::CodeBlock(block) => out.push_str(&format!("{{c:{}}}", block.literal.trim())),
        NodeValue::HtmlInline(html) => out.push_str(html),
        NodeValue::Strong => out.push_str(&format!("{{b:{children}}}")),
        NodeValue::Emph => out.push_str(&format!("{{i:{children}}}")),
        NodeValue::Strikethrough => out.push_str(&format!("{{s:{children}}}")),
        NodeValue::Link(link) if link.url == children => out.push_str(&format!("{{l:{children}}}")),
        NodeValue::Link(link) => out.push_str(&format!("{{l:{}|{children}}}", link.url)),
        _ => out.push_str(&children),
    }
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(shown(source), expected, "{source:?}");
}

#[test]
fn emphasis_may_stand_beside_punctuation_without_blanks() {
    check("这是**我想做的事。**所以继续。", "这是{b:我想做的事。}所以继续。");
    check("これは**「重要なこと」**です。", "これは{b:「重要なこと」}です。");
    check("**마크다운(Markdown)**을 사용하세요.", "{b:마크다운(Markdown)}을 사용하세요.");
    check("**复现：**10 轮对话", "{b:复现：}10 轮对话");
    check("~~删除的文字（带括号）。~~这个句子", "{s:删除的文字（带括号）。}这个句子");
    // Japanese.
    check("*「強調」*です", "{i:「強調」}です");
    check("**注意：**次の文", "{b:注意：}次の文");
    check("手順は**`make`**です", "手順は{b:{c:make}}です");
    check("これは***「とても」***大事", "これは{i:{b:「とても」}}大事");
    check("**太字（*斜体。*続き）**です", "{b:太字（{i:斜体。}続き）}です");
    check("~~**「古い」**~~新しい", "{s:{b:「古い」}}新しい");
    check("彼は**「はい！」**と言った", "彼は{b:「はい！」}と言った");
    // Chinese.
    check("请看**《红楼梦》**这本书", "请看{b:《红楼梦》}这本书");
    check("**“引用”**之后", "{b:“引用”}之后");
    check("价格是**100%**以上", "价格是{b:100%}以上");
    check("- **要点一：**说明\n- **要点二：**说明", "{b:要点一：}说明{b:要点二：}说明");
    check("> **提示：**内容", "{b:提示：}内容");
    check("| **甲：**乙 |\n|---|\n| ~~（丙）~~丁 |", "{b:甲：}乙{s:（丙）}丁");
    check("使用**`a*b`**的结果", "使用{b:{c:a*b}}的结果");
    // Korean.
    check("**\"중요\"**라고 했다", "{b:\"중요\"}라고 했다");
    check("*(참고)*입니다", "{i:(참고)}입니다");
    check("~~취소(됨)~~는", "{s:취소(됨)}는");
    check("그는 **[주의]**라고", "그는 {b:[주의]}라고");
    // Thai, Lao, Burmese and Khmer.
    check("นี่คือ**ข้อความ (สำคัญ)**ครับ", "นี่คือ{b:ข้อความ (สำคัญ)}ครับ");
    check("เขาพูดว่า**\"ใช่\"**แล้วไป", "เขาพูดว่า{b:\"ใช่\"}แล้วไป");
    check("ราคา~~(เก่า)~~ใหม่", "ราคา{s:(เก่า)}ใหม่");
    check("คำว่า*“สวัสดี”*นะ", "คำว่า{i:“สวัสดี”}นะ");
    check("**หมายเหตุ:**ข้อความ", "{b:หมายเหตุ:}ข้อความ");
    check("**ກ (ຂ)**ຄ", "{b:ກ (ຂ)}ຄ");
    check("**ক**", "{b:ক}");
    check("**မြန်မာ (ဘာသာ)**ပါ", "{b:မြန်မာ (ဘာသာ)}ပါ");
    check("**ខ្មែរ (ភាសា)**ដែល", "{b:ខ្មែរ (ភាសា)}ដែល");
    // What is no emphasis stays as it is.
    check("`นี่**(ก)**ข`", "{c:นี่**(ก)**ข}");
    check("3 * 4 * 5", "3 * 4 * 5");
    check("你好 ** 世界", "你好 ** 世界");
}

#[test]
fn a_bare_address_ends_where_the_sentence_goes_on() {
    check("见 https://example.com/a?b=1，谢谢", "见 {l:https://example.com/a?b=1}，谢谢");
    check(
        "访问 https://example.com/docs（说明）了解更多",
        "访问 {l:https://example.com/docs}（说明）了解更多",
    );
    check("句: https://example.com/foo。次の文。", "句: {l:https://example.com/foo}。次の文。");
    check("链接：**https://example.com/x**。做", "链接：{b:{l:https://example.com/x}}。做");
    for mark in "、；：！？（）「」『』【】《》…“”〈〉〔〕＂＇｜［］｛｝｢｣､｡—«»؟،।။។\u{3000}\u{a0}".chars()
    {
        check(&format!("x https://a.example/b{mark}c"), &format!("x {{l:https://a.example/b}}{mark}c"));
        check(&format!("https://a.example{mark}東"), &format!("{{l:https://a.example}}{mark}東"));
        check(&format!("https://a.example/東{mark}京"), &format!("{{l:https://a.example/東}}{mark}京"));
    }
    // Words right behind.
    check("请访问https://example.com/docs查看", "请访问{l:https://example.com/docs}查看");
    check("https://example.com/docsを見て", "{l:https://example.com/docs}を見て");
    check("https://example.com/docs을 보세요", "{l:https://example.com/docs}을 보세요");
    check("ดูhttps://example.com/docsครับ", "ดู{l:https://example.com/docs}ครับ");
    check("https://example.com/をご覧ください", "{l:https://example.com/}をご覧ください");
    check("https://example.com/에서 보세요", "{l:https://example.com/}에서 보세요");
    check("https://example.com次の文", "{l:https://example.com}次の文");
    check("https://example.com:8080看", "{l:https://example.com:8080}看");
    check("https://example.com/a?b=1查看", "{l:https://example.com/a?b=1}查看");
    check("https://example.com/docs(说明)了解", "{l:https://example.com/docs}(说明)了解");
    check("(https://example.com/docs)を見て", "({l:https://example.com/docs})を見て");
    check("https://example.com/a,然后", "{l:https://example.com/a},然后");
    check("https://example.com👍好", "{l:https://example.com}👍好");
    check("HTTPS://EXAMPLE.COM/A。好", "{l:HTTPS://EXAMPLE.COM/A}。好");
    check("ftp://example.com/a。好", "{l:ftp://example.com/a}。好");
    check("见 www.example.com，谢谢", "见 {l:http://www.example.com|www.example.com}，谢谢");
    check("www.example.com/a谢谢", "{l:http://www.example.com/a|www.example.com/a}谢谢");
    check("www.a.b，见 http://a.example/c。", "{l:http://www.a.b|www.a.b}，见 {l:http://a.example/c}。");
    check("a@b.example，谢谢", "{l:mailto:a@b.example|a@b.example}，谢谢");
    check(
        "一https://a.example/1，二https://b.example/2。",
        "一{l:https://a.example/1}，二{l:https://b.example/2}。",
    );
    check(
        "https://a.example/1。https://b.example/東京",
        "{l:https://a.example/1}。{l:https://b.example/東京}",
    );
    check("“https://a.example/1”", "“{l:https://a.example/1}”");
    check("《https://a.example/1》", "《{l:https://a.example/1}》");
    check("https://a.example/東京～ 大阪", "{l:https://a.example/東京}～ 大阪");
    // Emphasis around it.
    check("**https://a.example/x**做", "{b:{l:https://a.example/x}}做");
    check("*https://a.example/x*。", "{i:{l:https://a.example/x}}。");
    check("~~https://a.example/x~~。旧", "{s:{l:https://a.example/x}}。旧");
    check("__https://a.example/x__。旧", "{b:{l:https://a.example/x}}。旧");
    check("***https://a.example/x***，旧", "{i:{b:{l:https://a.example/x}}}，旧");
    check("**链接：https://a.example/x。**做", "{b:链接：{l:https://a.example/x}。}做");
    check("**https://a.example/x**을 보세요", "{b:{l:https://a.example/x}}을 보세요");
    check("**https://a.example/x**ครับ", "{b:{l:https://a.example/x}}ครับ");
    check("https://a.example/x**重要**的", "{l:https://a.example/x}{b:重要}的");
    check("| https://a.example/x，甲 |\n|---|\n| 乙 |", "{l:https://a.example/x}，甲乙");
}

#[test]
fn addresses_in_other_scripts_stay_whole() {
    for address in [
        "https://ja.wikipedia.org/wiki/東京",
        "https://ja.wikipedia.org/wiki/マイケル・ジャクソン",
        "https://ja.wikipedia.org/wiki/Tokyo_(曖昧さ回避)",
        "https://zh.wikipedia.org/wiki/Category:东京",
        "https://zh.wikipedia.org/wiki/东京?action=历史#人口",
        "https://ko.wikipedia.org/wiki/서울특별시",
        "https://th.wikipedia.org/wiki/กรุงเทพมหานคร",
        "https://ru.wikipedia.org/wiki/Москва",
        "https://fr.wikipedia.org/wiki/L’Étranger_(café)",
        "https://de.wikipedia.org/wiki/München",
        "https://ar.wikipedia.org/wiki/القاهرة",
        "https://example.com/?q=東京",
        "https://example.com/a-東京",
        "https://例え.テスト/パス",
        "https://例え.jp",
        "https://www.例え.jp/a",
        "https://abc日本.jp/a",
        "https://emoji.example/👍",
        "https://github.com/x/__init__.py",
        "https://example.com/a_b_c*d",
        "https://example.com/~ada/東京",
    ] {
        check(address, &format!("{{l:{address}}}"));
        check(&format!("見る {address} です"), &format!("見る {{l:{address}}} です"));
        check(&format!("見る {address}。次"), &format!("見る {{l:{address}}}。次"));
    }
}

#[test]
fn addresses_that_have_their_own_marks_and_code_are_left_alone() {
    check("<https://a.example/東，京>", "{l:https://a.example/東，京}");
    check("[甲](https://a.example/東，京)乙", "{l:https://a.example/東，京|甲}乙");
    check("[甲](<https://a.example/東，京>)", "{l:https://a.example/東，京|甲}");
    check("[甲]\n\n[甲]: https://a.example/東，京", "{l:https://a.example/東，京|甲}");
    check("`https://a.example/b，c`", "{c:https://a.example/b，c}");
    check("```\nhttps://a.example/b，c\n```", "{c:https://a.example/b，c}");
    check("    https://a.example/b，c", "{c:https://a.example/b，c}");
    check("<b title=\"https://a.example/b，c\">東</b>", "<b title=\"https://a.example/b，c\">東</b>");
    check("a\u{fdd0}東\u{fdd0}", "a東");
    check("://，http://，", "://，http://，");
}

#[test]
fn lines_of_the_text_stay_and_hostile_texts_end() {
    let arena = Arena::new();
    let document = parse(&arena, "https://a.example/b。c\n\n# 東\n", &|| false).unwrap();
    let lines: Vec<usize> = document.children().map(|node| node.data().sourcepos.start.line).collect();
    assert_eq!(lines, [1, 3]);
    let started = Instant::now();
    let many = [
        "http://a。".repeat(20_000),
        "http://東".repeat(20_000),
        "http://a/(東".repeat(20_000),
        "**(ก)**ข".repeat(10_000),
        "www.a.b。".repeat(20_000),
    ];
    for hostile in many {
        let deadline = Instant::now() + std::time::Duration::from_secs(5);
        let _ = parse(&Arena::new(), &hostile, &|| Instant::now() >= deadline);
    }
    assert!(started.elapsed().as_secs() < 60);
}
