//! A conversation of 2,000 messages: it opens fast, older ones come when they are scrolled to, and it stays usable.

use std::time::{Duration, Instant};

use aethon_tests::Server;

use crate::page::Page;

const TURNS: usize = 1000;

#[test]
fn two_thousand_messages_open_fast_and_scroll_smoothly() {
    let server = Server::start(&["model.provider=echo"]);
    let mut socket = server.socket("/ws/chat?session=default");
    for number in 1..=TURNS {
        let text = format!(
            "message {number}\n\n- with a list\n- of `two` things\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        );
        socket.send(&text);
        // Some ahead of the answers, as many as surely fit into the queue.
        if number > 8 {
            socket.text();
        }
    }
    for _ in 0..8 {
        socket.text();
    }
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    // Once without the clock: what is measured is the page and not the first start of a browser.
    page.go("/health");
    let started = Instant::now();
    page.go("/");
    let last =
        format!("all('.turn').at(-1)?.querySelector('.reply .prose')?.innerText === 'message {TURNS}'");
    page.until("the newest is there", &last);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(3), "it took {took:?} to open");
    assert!(browser.is("all('.turn').length < 200"), "not all of it at once");
    assert!(browser.is("one('.transcript').scrollHeight - one('.transcript').scrollTop - one('.transcript').clientHeight < 60"));

    // Back to the beginning, page by page; what is in view stays in view.
    let to_the_top =
        "(one('.transcript').scrollTop = 0, one('.said-text').innerText.split('\\n')[0] === 'message 1')";
    page.until("the oldest is there", to_the_top);
    assert_eq!(browser.text("all('.turn').length"), TURNS.to_string());
    let numbers = browser
        .text("all('.said-text').every((e, index) => e.textContent.startsWith(`message ${index + 1}\\n`))");
    assert_eq!(numbers, "true", "all of them, in order, once");

    // Scrolling through it: twenty steps, each drawn.
    let slowest = browser.run(
        "const view = one('.transcript'), drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        const times = [];
        for (let step = 0; step < 20; step += 1) {
            const from = performance.now();
            view.scrollTop = view.scrollHeight * step / 20;
            await drawn();
            times.push(performance.now() - from);
        }
        return times.sort((a, b) => a - b)[10];",
        &[],
    );
    assert!(slowest.as_f64().unwrap() < 150.0, "half of the steps took longer than {slowest} ms");

    // And it is still a chat.
    page.browser.click(".to-end");
    page.until("it is at the end", "one('.transcript').scrollHeight - one('.transcript').scrollTop - one('.transcript').clientHeight < 60");
    let started = Instant::now();
    page.say("one more");
    page.until(
        "it is answered",
        "all('.reply .prose').at(-1)?.innerText === 'one more' && !one('[data-live]')",
    );
    let took = started.elapsed();
    assert!(took < Duration::from_secs(2), "an answer took {took:?}");
    page.assert_clean();
}
