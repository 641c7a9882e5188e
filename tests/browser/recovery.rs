//! What happens when the page or the server goes away in mid-reply: nothing is lost and nothing is there twice.

use serde_json::json;

use crate::page::{Page, tokens};

#[test]
fn reload_during_a_reply_shows_the_reply_once() {
    let Some(page) = Page::open(&[]) else { return };
    page.say("!stream 600 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token5')");
    for round in 0..3 {
        page.browser.reload();
        page.until("the reply is back", "one('.turn[data-live] .prose')?.innerText.includes('token5')");
        assert_eq!(page.turns().len(), 1, "round {round}: {:?}", page.turns());
    }
    let turn = page.settled();
    assert_eq!((turn.said.as_str(), turn.reply), ("!stream 600 30", tokens(600)));
    page.browser.reload();
    page.until("the transcript is there", "all('.turn').length === 1 && !one('.turn[data-live]')");
    assert_eq!(page.turns()[0].reply, tokens(600), "as it was stored");
    assert_eq!(page.server().said("webchat:default").len(), 2);
    page.assert_clean();
}

#[test]
fn page_waits_for_a_killed_server_and_shows_the_reply_once() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.say("!stream 60 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token5')");
    let home = page.kill_server();
    page.until(
        "the page says so",
        "shown(one('.banner')) && /connection is lost/.test(one('.banner').innerText)",
    );
    assert!(page.turns()[0].reply.starts_with("token1 token2"), "what came stays: {:?}", page.turns());
    page.say("!say written while it was away");
    page.until("it waits", "/Will be sent when the connection is back/.test(all('.turn').at(-1).innerText)");
    page.start_server(home);
    page.reconnect();
    page.until("both are answered", "all('.turn').length === 2 && !one('[data-live]')");
    let turns = page.turns();
    assert_eq!((turns[0].said.as_str(), turns[0].reply.as_str()), ("!stream 60 30", tokens(60).as_str()));
    assert_eq!(turns[1].reply, "written while it was away");
    page.browser.reload();
    page.until("the transcript is there", "all('.turn').length === 2 && !one('.turn[data-live]')");
    assert_eq!(page.turns(), turns, "after a reload it is the same");
    assert_eq!(page.server().said("webchat:default").len(), 4);
    page.assert_clean();
}

#[test]
fn two_pages_of_one_conversation_show_the_same() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say from the page");
    // Another client, such as a tab or the terminal.
    let mut other = page.server().chat("default");
    other.say("m1", "!say from elsewhere");
    page.until("both are there", "all('.turn').length === 2 && !one('.turn[data-live]')");
    page.until("with the question", "all('.said-text')[1]?.innerText === '!say from elsewhere'");
    assert_eq!(page.turns()[1].reply, "from elsewhere");
    page.assert_clean();
}

#[test]
fn connection_that_breaks_every_second_loses_and_doubles_nothing() {
    let Some(page) = Page::open(&[]) else { return };
    let flapping = "const Steady = WebSocket;
        window.WebSocket = class extends Steady {
            constructor(...address) {
                super(...address);
                this.addEventListener('open', () => setTimeout(() => this.close(), 1000));
            }
        };";
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": flapping}));
    page.browser.reload();
    page.until("the page is there", "shown(one('#message')) && !one('.skeleton')");
    page.say("!stream 100 40");
    for number in 1..=3 {
        page.say(&format!("!say answer {number}"));
    }
    page.fill("#message", "half a thought");
    page.until(
        "all are answered",
        "all('.reply .prose').at(-1)?.innerText === 'answer 3' && !one('[data-live]') && !one('.said-state')",
    );
    let replies: Vec<String> = page.turns().into_iter().map(|turn| turn.reply).collect();
    assert_eq!(replies, [&tokens(100), "answer 1", "answer 2", "answer 3"]);
    assert_eq!(page.server().said("webchat:default").len(), 8, "nothing is doubled");
    assert_eq!(page.browser.text("one('#message').value"), "half a thought");
    page.assert_clean();
}
