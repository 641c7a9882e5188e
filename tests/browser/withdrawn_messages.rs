//! A message that waits can be taken back. It stays in its place, marked, and can still be answered.

use aethon_tests::browser::keys::ENTER;
use aethon_tests::http::Request;

use crate::accessibility::assert_no_barriers;
use crate::page::{Page, Turn};

const MARK: &str = "Stopped before it was answered.";

fn states(turns: &[Turn]) -> Vec<(&str, &str)> {
    turns.iter().map(|turn| (turn.said.as_str(), turn.state.as_str())).collect()
}

#[test]
fn withdrawn_message_stays_marked_in_its_place() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.begin_stream("!stream 4000 25");
    for text in ["!say two", "!say three"] {
        page.say(text);
        page.until("it waits", &format!("all('.said-text').at(-1).innerText === '{text}' && /^Queued/.test(all('.said-state').at(-1)?.innerText)"));
    }
    browser.click(
        "//p[@class='said-state'][contains(., 'behind one message')]/button[normalize-space()='Take back']",
    );
    let is_marked = format!("all('.turn')[1]?.innerText.includes('{MARK}')");
    page.until("it is marked", &is_marked);
    assert_no_barriers(browser, "a message that was taken back");
    // While the first reply streams, it is in no place of the transcript yet; the page has it all the same.
    browser.reload();
    page.until("all are there again", "all('.turn').length === 3 && one('.turn[data-live] .prose')");
    page.until("with the mark", &is_marked);
    assert_eq!(page.turns()[1].said, "!say two");
    browser.click("[aria-label=Stop]");
    let last = page.settled();
    assert_eq!(last.reply, "three");
    let now = page.turns();
    assert_eq!(states(&now)[1], ("!say two", MARK));
    browser.reload();
    page.until("the transcript is there", "all('.turn').length === 3 && !one('[data-live]')");
    assert_eq!(page.turns(), now, "as it is stored");
    let said: Vec<_> = page.server().said("webchat:default").into_iter().map(|(role, _)| role).collect();
    assert_eq!(said, ["user", "assistant", "user", "assistant", "user", "assistant"]);
    let export = page.server().send(&Request::get("/api/sessions/webchat:default/export?format=markdown"));
    assert!(export.text().contains("!say two") && export.text().contains(MARK), "{}", export.text());

    // It can be answered after all.
    let again = "all('.turn')[1].querySelector('.reply [aria-label=\"Answer again\"]').click()";
    browser.run(again, &[]);
    page.until(
        "it is answered",
        "all('.turn').length === 2 && !one('[data-live]') && all('.reply .prose').at(-1).innerText === 'two'",
    );
    page.assert_clean();
}

#[test]
fn queued_message_is_taken_back_into_the_box_to_be_edited() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.begin_stream("!stream 4000 25");
    page.say("!say tow");
    page.until("it waits", "/^Queued/.test(all('.said-state').at(-1)?.innerText)");
    page.fill("#message", "and more");
    browser.click("//p[@class='said-state']/button[normalize-space()='Edit']");
    page.until("its text is in the box", "one('#message').value === '!say tow\\n\\nand more'");
    page.until("it does not wait any more", &format!("all('.turn')[1]?.innerText.includes('{MARK}')"));
    page.fill("#message", "!say two");
    browser.chord(&[ENTER]);
    page.until("the edited one waits", "/^Queued/.test(all('.said-state').at(-1)?.innerText)");
    browser.click("[aria-label=Stop]");
    assert_eq!(page.settled().reply, "two");
    page.assert_clean();
}

#[test]
fn conversation_goes_on_from_an_answer_in_a_new_one() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for number in ["one", "two", "three"] {
        page.ask(&format!("!say {number}"));
    }
    let before = page.turns();
    browser.run("all('.turn')[1].querySelector('.reply [aria-haspopup=menu]').click()", &[]);
    browser.click("//button[@role='menuitem'][starts-with(normalize-space(), 'Go on from here')]");
    page.until("it is open", "/fork-/.test(location.hash) && all('.turn').length === 2");
    assert_eq!(states(&page.turns()), states(&before[..2]));
    assert_eq!(page.ask("!say four").reply, "four");
    page.go("/#/default");
    page.until("the other is as it was", "all('.turn').length === 3");
    assert_eq!(states(&page.turns()), states(&before));
    page.assert_clean();
}

#[test]
fn stopping_everything_keeps_queued_messages() {
    let Some(page) = Page::open(&[]) else { return };
    page.begin_stream("!stream 4000 25");
    page.say("!say two");
    page.until("it waits", "/^Queued/.test(all('.said-state').at(-1)?.innerText)");
    let stop = page.server().post("/api/sessions/webchat:default/stop", &serde_json::json!({}));
    assert_eq!(stop.json()["stopped"], 2, "{}", stop.text());
    page.settled();
    assert_eq!(states(&page.turns()), [("!stream 4000 25", "You stopped this reply."), ("!say two", MARK)]);
    page.browser.reload();
    page.until("the transcript is there", "all('.turn').length === 2 && !one('[data-live]')");
    assert_eq!(states(&page.turns()), [("!stream 4000 25", "You stopped this reply."), ("!say two", MARK)]);
    assert_eq!(page.ask("!say four").reply, "four");
    page.assert_clean();
}
