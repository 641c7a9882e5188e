//! The content of a Slack message: its words as the person saw them, with the addresses of links, and its files.
//!
//! A message has its words as text, as blocks, or as both. The text is read where there is one; tables are only in
//! the blocks.

use serde_json::Value;

use crate::talk::RemoteFile;

/// How deep blocks are read.
const MAX_DEPTH: usize = 8;

/// Returns the words of a message.
pub(super) fn words(message: &Value, text: &str) -> String {
    let blocks = || each(&message["blocks"]);
    let mut parts = vec![plain(text).trim().to_owned()];
    if parts[0].is_empty() {
        parts.extend(blocks().map(|block| block_words(block, 0)));
    } else {
        parts.extend(blocks().filter(|block| block["type"] == "table").map(|block| block_words(block, 0)));
    }
    let inner = each(&message["attachments"]).filter(|attachment| !is_shared(attachment));
    for attachment in inner {
        parts.extend(each(&attachment["blocks"]).map(|block| block_words(block, 0)));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n").trim().to_owned()
}

/// Returns whether an attachment is another message that this one shares.
pub(super) fn is_shared(attachment: &Value) -> bool {
    attachment["is_share"] == true || attachment["is_msg_unfurl"] == true
}

/// Returns the words of a shared message.
pub(super) fn shared_words(attachment: &Value) -> String {
    let text = attachment["text"].as_str().filter(|text| !text.trim().is_empty());
    let messages = || each(&attachment["message_blocks"]).flat_map(|inner| each(&inner["message"]["blocks"]));
    let blocks = || -> Vec<String> {
        each(&attachment["blocks"]).chain(messages()).map(|block| block_words(block, 0)).collect()
    };
    match text {
        Some(text) => plain(text),
        None => {
            let blocks = blocks().join("\n");
            match blocks.trim().is_empty() {
                true => plain(attachment["fallback"].as_str().unwrap_or_default()),
                false => blocks,
            }
        }
    }
    .trim()
    .to_owned()
}

/// Returns the files of a message or of a shared one. Those that cannot be fetched have no address.
pub(super) fn files(message: &Value) -> Vec<RemoteFile> {
    each(&message["files"]).filter_map(offer).collect()
}

/// Returns the words of a block.
fn block_words(block: &Value, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return String::new();
    }
    let inner = |values: &Value, joint: &str| -> String {
        let words = each(values).map(|block| block_words(block, depth + 1));
        words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(joint)
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "rich_text" => inner(&block["elements"], "\n"),
        "rich_text_section" => inner(&block["elements"], ""),
        "rich_text_quote" => {
            let words = inner(&block["elements"], "");
            words.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
        }
        "rich_text_preformatted" => format!("```\n{}\n```", inner(&block["elements"], "")),
        "rich_text_list" => list(block, depth),
        "text" => text(&block["text"]),
        "link" => labelled(&text(&block["text"]), &text(&block["url"])),
        "emoji" => format!(":{}:", text(&block["name"])),
        "user" => format!("@{}", text(&block["user_id"])),
        "usergroup" => format!("@{}", text(&block["usergroup_id"])),
        "channel" => format!("#{}", text(&block["channel_id"])),
        "broadcast" => format!("@{}", text(&block["range"])),
        "date" => text(&block["fallback"]),
        "color" => text(&block["value"]),
        "plain_text" | "raw_text" => text(&block["text"]),
        "mrkdwn" => plain(&text(&block["text"])),
        "header" => block_words(&block["text"], depth + 1),
        "section" => {
            let mut parts = vec![block_words(&block["text"], depth + 1)];
            parts.extend(each(&block["fields"]).map(|field| block_words(field, depth + 1)));
            parts.retain(|part| !part.is_empty());
            parts.join("\n")
        }
        "markdown" => text(&block["text"]),
        "context" => inner(&block["elements"], " "),
        "image" | "video" => {
            let title = block_words(&block["title"], depth + 1);
            if title.is_empty() { text(&block["alt_text"]) } else { title }
        }
        "table" => each(&block["rows"])
            .map(|row| {
                let cells: Vec<String> = each(row).map(|cell| block_words(cell, depth + 1)).collect();
                format!("| {} |", cells.join(" | "))
            })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

fn list(block: &Value, depth: usize) -> String {
    let is_ordered = block["style"] == "ordered";
    let indent = "  ".repeat(block["indent"].as_u64().unwrap_or(0).min(8) as usize);
    let first = block["offset"].as_u64().unwrap_or(0) + 1;
    let items = each(&block["elements"]).zip(first..).map(|(item, number)| {
        let words = block_words(item, depth + 1);
        if is_ordered { format!("{indent}{number}. {words}") } else { format!("{indent}- {words}") }
    });
    items.collect::<Vec<_>>().join("\n")
}

fn offer(file: &Value) -> Option<RemoteFile> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let address = text(&file["url_private_download"]).or_else(|| text(&file["url_private"]))?;
    Some(RemoteFile {
        handle: address,
        name: text(&file["name"]).unwrap_or_else(|| "file".into()),
        mime: text(&file["mimetype"]).unwrap_or_else(|| "application/octet-stream".into()),
        size: file["size"].as_u64().unwrap_or(0),
        seconds: file["duration_ms"].as_u64().map(|milliseconds| milliseconds.div_ceil(1000)),
        is_quoted: false,
        is_earlier: false,
    })
}

/// Returns a text as the person saw it, without Slack's markup for people, channels and links.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        out.push_str(&rest[..start]);
        out.push_str(&shown(&rest[start + 1..start + length]));
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn shown(mark: &str) -> String {
    let (what, label) = mark.split_once('|').map_or((mark, None), |(what, label)| (what, Some(label)));
    match (what.chars().next(), label) {
        (Some('@' | '#'), Some(label)) => format!("{}{}", &what[..1], label.trim_start_matches(['@', '#'])),
        (Some('@' | '#'), None) => what.to_owned(),
        (Some('!'), Some(label)) => label.to_owned(),
        (Some('!'), None) => format!("@{}", &what[1..]),
        (_, Some(label)) => labelled(label, what),
        _ => what.trim_start_matches("mailto:").to_owned(),
    }
}

/// Returns the words of a link with its address, unless they are it.
fn labelled(label: &str, address: &str) -> String {
    match label.is_empty() || address.contains(label) {
        true => address.trim_start_matches("mailto:").to_owned(),
        false => format!("{label} ({address})"),
    }
}

fn each(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_what_the_person_saw() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
        check("a &lt;b&gt; &amp;amp;", "a <b> &amp;");
        check("<@U2> and <#C1|general>", "@U2 and #general");
        check(
            "<https://a.b|a.b> <https://a.b|this> <mailto:a@b.c|a@b.c>",
            "https://a.b this (https://a.b) a@b.c",
        );
        check("<!here> <!subteam^S1|@team> 1 < 2", "@here @team 1 < 2");
    }

    #[test]
    fn blocks_are_read_with_their_links_lists_and_tables() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let section = |elements: Value| json!({"type": "rich_text_section", "elements": elements});
        let rich = |elements: Value| json!({"type": "rich_text", "elements": elements});
        let items = json!([section(json!([text("one")])), section(json!([text("two")]))]);
        let row = |cells: [&str; 2]| json!(cells.map(|cell| json!({"type": "raw_text", "text": cell})));
        for (block, expected) in [
            (
                rich(json!([section(json!([
                    text("see "),
                    {"type": "link", "url": "https://a.b/c", "text": "this"},
                    text(" or "),
                    {"type": "link", "url": "https://d.e"},
                ]))])),
                "see this (https://a.b/c) or https://d.e",
            ),
            (
                rich(json!([section(json!([
                    {"type": "emoji", "name": "wave"}, text(" "), {"type": "user", "user_id": "U2"},
                    text(" "), {"type": "broadcast", "range": "here"},
                ]))])),
                ":wave: @U2 @here",
            ),
            (rich(json!([{"type": "rich_text_list", "style": "bullet", "elements": items}])), "- one\n- two"),
            (
                rich(
                    json!([{"type": "rich_text_list", "style": "ordered", "indent": 1, "offset": 2, "elements": items}]),
                ),
                "3. one\n  4. two",
            ),
            (rich(json!([{"type": "rich_text_quote", "elements": [text("a\nb")]}])), "> a\n> b"),
            (rich(json!([{"type": "rich_text_preformatted", "elements": [text("ls")]}])), "```\nls\n```"),
            (json!({"type": "header", "text": {"type": "plain_text", "text": "Plan"}}), "Plan"),
            (
                json!({"type": "section", "text": {"type": "mrkdwn", "text": "<https://a.b|x>"}, "fields": [{"type": "plain_text", "text": "y"}]}),
                "x (https://a.b)\ny",
            ),
            (
                json!({"type": "context", "elements": [{"type": "plain_text", "text": "by"}, {"type": "mrkdwn", "text": "*me*"}]}),
                "by *me*",
            ),
            (json!({"type": "image", "alt_text": "a cat"}), "a cat"),
            (json!({"type": "table", "rows": [row(["a", "b"]), row(["c", "d"])]}), "| a | b |\n| c | d |"),
            (json!({"type": "divider"}), ""),
        ] {
            assert_eq!(words(&json!({"blocks": [block]}), ""), expected, "{block}");
        }
        let both = json!({"blocks": [rich(json!([section(json!([text("hi")]))])), {"type": "table", "rows": [row(["a", "b"])]}]});
        assert_eq!(words(&both, "hi"), "hi\n| a | b |");
    }
}
