//! People at real browsers. They say one or two things at once, wait until the page shows the answers, and scroll up for turns
//! that came while the page was away and are more than it fetches at a time.

use std::time::{Duration, Instant};

use aethon_tests::browser::keys::ENTER;
use aethon_tests::{Browser, Random};
use serde_json::{Value, json};

use super::{LONG, SurfaceRun, question};

/// The turns on the page: the last line of the question, and the answer, or nothing while it streams.
const TURNS: &str = "const turns = () => all('.turn').map((turn) => [
        turn.querySelector('.said-text')?.textContent.trim().split('\\n').at(-1) ?? '',
        turn.hasAttribute('data-live') ? null
            : [...turn.querySelectorAll('.reply-parts > .prose')].map((e) => e.textContent.trim()).join(' ')]);
    const view = one('.transcript');";

/// Sits at a page until all is over. Returns the browser; nothing where there is none.
pub(super) fn sit(stage: &SurfaceRun, number: usize, session: usize, mut random: Random) -> Option<Browser> {
    let Some(browser) = Browser::start() else {
        stage.sits_down();
        return None;
    };
    browser.open(&format!("http://{}/#/s{session}", stage.address()));
    browser.until("the page is connected", "shown(one('#message')) && one('.turn, .welcome')");
    stage.sits_down();
    let writer = format!("page {number}");
    while !stage.is_over() {
        let numbers: Vec<usize> = (0..random.between(1, 3)).map(|_| stage.ask(session)).collect();
        for number in &numbers {
            say(&browser, &question(*number).0.replace(" | ", "\n"));
        }
        let repeated = numbers.iter().filter(|number| await_answer(&browser, **number)).count();
        let mut known = stage.known();
        known.printed.extend(&numbers);
        if repeated == 0 {
            known.acknowledged.entry(writer.clone()).or_default().extend(&numbers);
        }
        drop(known);
        std::thread::sleep(Duration::from_millis(random.between(0, 500)));
    }
    Some(browser)
}

fn say(browser: &Browser, text: &str) {
    let script = "const box = one('#message'); box.focus(); box.value = arguments[0];
        box.dispatchEvent(new Event('input', {bubbles: true}));";
    browser.run(script, &[json!(text)]);
    browser.chord(&[ENTER]);
}

/// Waits until the page shows the answer to a question, once. Returns whether it had to be sent again, which puts it behind later
/// messages.
fn await_answer(browser: &Browser, number: usize) -> bool {
    let (question, answer) = question(number);
    let last_line = question.rsplit(" | ").next().unwrap_or_default();
    // A message that left the outbox and is not on the page lies further up.
    let look = format!(
        "{TURNS}
        const found = turns().filter(([said]) => said === arguments[0]);
        // A conversation takes only so many messages that wait. The page says so, and a person says it again.
        const refused = all('.turn').filter((turn) => turn.querySelector('.said-text')?.textContent.trim().split('\\n').at(-1) === arguments[0])
            .flatMap((turn) => [...turn.querySelectorAll('button')]).find((button) => button.textContent.trim() === 'Send again');
        const isSent = !(sessionStorage.getItem('aethon.outbox') ?? '').includes(arguments[0]);
        if (refused) {{ refused.click(); return 'again'; }}
        if (found.length === 0 && isSent) {{
            // What is far from the view is drawn as for printing.
            dispatchEvent(new Event('beforeprint'));
            view.scrollTop = 0;
        }}
        else if (found.some(([, told]) => told !== null)) view.scrollTop = view.scrollHeight;
        return found;"
    );
    let (deadline, mut is_repeated) = (Instant::now() + LONG, false);
    loop {
        let found = browser.run(&look, &[json!(last_line)]);
        if found == "again" {
            is_repeated = true;
            std::thread::sleep(Duration::from_millis(200));
            continue;
        }
        let found = found.as_array().expect("a list of turns");
        assert!(found.len() < 2, "the page shows question {number} more than once: {found:?}");
        if let Some(told) = found.first().map(|turn| &turn[1]).filter(|told| !told.is_null()) {
            assert_eq!(*told, answer, "the answer to question {number}");
            return is_repeated;
        }
        if Instant::now() > deadline {
            let state = browser.text(
                "[shown(one('.banner')), one('.banner')?.innerText, sessionStorage.getItem('aethon.outbox'),
                    document.body.innerText.slice(0, 3000)].join('\\n')",
            );
            panic!("the page does not show the answer to question {number}: {found:?}\n{state}");
        }
        std::thread::sleep(Duration::from_millis(40));
    }
}

/// Compares a page with the conversation, which is quiet: its end at once, and all of it by scrolling; the end again after
/// a reload.
pub(super) fn compare(browser: &Browser, turns: &[(String, String)]) {
    let wanted: Vec<Value> = turns.iter().map(|(said, told)| json!([said, told])).collect();
    // As for printing, all that was loaded is drawn, however far it is from the view.
    browser.run("dispatchEvent(new Event('beforeprint')); one('.transcript').scrollTop = 1e9;", &[]);
    shows_the_end(browser, &wanted);
    let scroll = format!(
        "{TURNS}
        const until = performance.now() + 40000;
        // A page of the transcript may begin within a turn: its question comes with the page before it.
        const isWhole = () => all('.turn').length >= arguments[0] && turns()[0][0] !== '';
        while (!isWhole() && performance.now() < until) {{
            view.scrollTop = 0;
            await new Promise((done) => setTimeout(done, 30));
            // A further scroll event at the beginning, as by hand.
            view.scrollTop = 1;
        }}
        return turns();"
    );
    let all = browser.run(&scroll, &[json!(wanted.len())]);
    let all = all.as_array().expect("a list of turns");
    let differing = all.iter().zip(&wanted).position(|(shown, stored)| shown != stored);
    assert!(
        all.len() == wanted.len() && differing.is_none(),
        "scrolled to its beginning the page has {} turns of {}, the first that differs is {:?}",
        all.len(),
        wanted.len(),
        differing.map(|at| (at, &all[at], &wanted[at], all.iter().position(|shown| *shown == wanted[at])))
    );
    browser.reload();
    shows_the_end(browser, &wanted);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "the browser complained: {complaints:#?}");
}

/// The page has nothing but the end of the conversation, whole and in its order.
fn shows_the_end(browser: &Browser, wanted: &[Value]) {
    let look = format!("{TURNS} return turns();");
    let deadline = Instant::now() + LONG;
    loop {
        let shown = browser.run(&look, &[]);
        let shown = shown.as_array().expect("a list of turns");
        // A page of the transcript may begin within a turn, of which it then has the answer alone.
        let is_cut = shown.first().is_some_and(|turn| turn[0] == "");
        let shown = &shown[usize::from(is_cut)..];
        if shown.len() >= wanted.len().min(25) && wanted.ends_with(shown) {
            return;
        }
        let end = &wanted[wanted.len().saturating_sub(shown.len())..];
        assert!(Instant::now() < deadline, "the page shows {shown:#?}\ninstead of {end:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
