//! A conversation of 2,000 messages: it opens with its newest ones only, older ones come when they are scrolled to, and it
//! stays usable. How fast that is depends on the machine, so the assertions count the page's work.

use aethon_tests::Server;
use aethon_tests::browser::keys::UP;

use crate::page::Page;

const TURNS: usize = 1000;

/// Each connection says as much as it may without being slowed down.
fn fill(server: &Server) {
    for first in (0..TURNS).step_by(100) {
        let mut socket = server.socket("/ws/chat?session=default");
        for number in first + 1..=first + 100 {
            let rich = "- with a list\n- of `two` things\n\n| a | b |\n|---|---|\n| 1 | 2 |";
            socket.send(&format!("message {number}\n\n{rich}"));
            socket.text();
        }
    }
}

#[test]
fn two_thousand_messages_open_fast_and_scroll_smoothly() {
    let server = Server::start(&["model.provider=echo"]);
    fill(&server);
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    page.go("/");
    let last =
        format!("all('.turn').at(-1)?.querySelector('.reply .prose')?.innerText === 'message {TURNS}'");
    page.until("the newest is there", &last);
    assert!(browser.is("all('.turn').length < 200"), "not all of it at once");
    assert!(browser.is("one('.transcript').scrollHeight - one('.transcript').scrollTop - one('.transcript').clientHeight < 60"));

    // Back to the beginning, page by page. What is far from the view is released, so the page stays small.
    let most = browser.run(
        "const view = one('.transcript'), until = performance.now() + 50000;
        const first = () => all('.said-text')[0]?.textContent.startsWith('message 1\\n');
        let most = 0;
        while (!first() && performance.now() < until) {
            view.scrollTop = 0;
            await new Promise(requestAnimationFrame);
            most = Math.max(most, document.querySelectorAll('*').length);
        }
        return first() ? most : -1;",
        &[],
    );
    let most = most.as_i64().unwrap();
    assert!((0..6000).contains(&most), "at most {most} elements (-1: the beginning was not reached)");
    let all: Vec<u64> = (1..=TURNS as u64).collect();
    assert_eq!(page.read_down(), all, "all of them, in order, once");
    assert!(browser.is("document.querySelectorAll('*').length < 6000"));

    // What is read stays where it is while exchanges around it come and go.
    let jumps = browser.run(
        "const view = one('.transcript'), drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const jumps = [];
        view.scrollTop = view.scrollHeight / 2;
        for (let step = 0; step < 10; step += 1) await drawn();
        for (let step = 0; step < 60; step += 1) {
            const edge = view.getBoundingClientRect();
            const turn = all('.turn').find((e) => e.getBoundingClientRect().bottom > edge.top + edge.height / 2);
            const before = turn.getBoundingClientRect().top;
            view.scrollBy(0, step % 2 ? 150 : -450);
            await drawn();
            const by = turn.getBoundingClientRect().top - before - (step % 2 ? -150 : 450);
            if (Math.abs(by) > 2) jumps.push(`${step}: ${by}`);
        }
        return jumps.join(', ');",
        &[],
    );
    assert_eq!(jumps.as_str().unwrap(), "", "nothing jumps");

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
    assert!(slowest.as_f64().unwrap() < 2000.0, "half of the steps froze the page for {slowest} ms");

    // And it is still a chat.
    page.browser.click(".to-end");
    page.until("it is at the end", "one('.transcript').scrollHeight - one('.transcript').scrollTop - one('.transcript').clientHeight < 60");
    page.say("one more");
    page.until(
        "it is answered",
        "all('.reply .prose').at(-1)?.innerText === 'one more' && !one('[data-live]')",
    );
    page.assert_clean();
}

#[test]
fn reader_who_goes_a_line_up_is_not_pulled_down_by_the_stream() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.browser.resize(700, 500);
    page.say("!stream 4000 10");
    let view = "one('.transcript')";
    page.until("it fills the view", &format!("{view}.scrollHeight > {view}.clientHeight + 200"));
    browser.run(&format!("{view}.focus({{preventScroll: true}})"), &[]);
    for round in 1..=3 {
        browser.run(&format!("window.before = {view}.scrollTop"), &[]);
        browser.chord(&[UP]);
        page.until("the view has moved up", &format!("{view}.scrollTop < before - 5"));
        // A key press may glide for a moment.
        let still = format!(
            "const view = {view};
            for (let last = -1; last !== view.scrollTop;) {{
                last = view.scrollTop;
                await new Promise((done) => setTimeout(done, 200));
            }}
            window.place = view.scrollTop;
            window.length = view.scrollHeight;"
        );
        browser.run(&still, &[]);
        page.until("the reply goes on", &format!("{view}.scrollHeight > length + 60"));
        assert!(browser.is(&format!("{view}.scrollTop === place")), "round {round}: the view stays");
        browser.click(".to-end");
        page.until(
            "it follows again",
            &format!("{view}.scrollHeight - {view}.scrollTop - {view}.clientHeight < 5"),
        );
        browser.run(&format!("{view}.focus({{preventScroll: true}})"), &[]);
    }
    page.assert_clean();
}
