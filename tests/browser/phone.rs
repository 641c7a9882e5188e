//! A narrow screen and a finger: nothing leaves its box, and no text speaks of keys or of places that a phone does not have.

use serde_json::json;

use crate::page::Page;

/// The controls of the row below the message box that leave the box, or are too narrow for a finger.
const OUTSIDE: &str = "const box = one('.composer').getBoundingClientRect();
    return all('.composer-row :is(button, select)').filter(shown)
        .map((e) => [e.ariaLabel ?? e.id, e.tagName, e.getBoundingClientRect()])
        .filter(([, tag, {left, right, width}]) => left < box.left || right > box.right || tag === 'BUTTON' && width < 43.5)
        .map(([name, , {left, right}]) => `${name} is from ${left} to ${right} in ${box.left} to ${box.right}`)";

#[test]
fn row_below_the_message_box_fits_a_phone_while_a_reply_runs() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for (language, send) in [("en", "Send"), ("de", "Senden")] {
        browser.resize(1280, 860);
        page.go(&format!("/?lang={language}#/{language}"));
        page.become_phone(360, 740);
        page.begin_stream("!stream 2000 50");
        page.until("the reply can be stopped", "shown(one('.stop'))");
        assert!(
            browser.text("one('.composer .send').ariaLabel").starts_with(send),
            "the page is in {language}"
        );
        for has_voice in [false, true] {
            let offer = "one('.dictate').hidden = one('.voice-button').hidden = !arguments[0]";
            browser.run(offer, &[json!(has_voice)]);
            for width in [320, 360, 390] {
                browser.become_phone(width, 740);
                page.until("it is that narrow", &format!("innerWidth === {width}"));
                let what = format!("{language} at {width} px, with a voice: {has_voice}");
                assert_eq!(browser.run(OUTSIDE, &[]), json!([]), "{what}");
                assert!(browser.is(&format!("document.documentElement.scrollWidth <= {width}")), "{what}");
            }
        }
        browser.click(".stop");
        page.settled();
    }
    page.assert_clean();
}

#[test]
fn long_file_name_leaves_a_sent_message_on_the_screen() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.become_phone(360, 740);
    let name = "Ein-sehr-langer-Dateiname-mit-vielen-Zeichen-2026-11-30-Rechnung.txt";
    let path = browser.folder().join(name);
    std::fs::write(&path, "eggs").unwrap();
    browser.give_files("[type=file]", &[path]);
    page.until("it is attached", "all('.composer-file').length === 1");
    page.ask("!say seen");
    let fits = "(() => {
        const edges = all('.said-card, .said .file-chip, .said .actions').map((e) => e.getBoundingClientRect());
        return edges.length === 3 && edges.every(({left, right}) => left >= 0 && right <= innerWidth);
    })()";
    page.until("it is all in sight", fits);
    assert!(browser.is("one('.transcript').scrollWidth <= one('.transcript').clientWidth"));
    page.assert_clean();
}

#[test]
fn foldout_of_the_next_day_keeps_its_triangle() {
    let Some(page) = Page::open(&[]) else { return };
    let job = json!({"id": "hourly", "prompt": "!say hello", "cron": "0 * * * *"});
    assert_eq!(page.server().post("/api/scheduler/jobs", &job).status, 201);
    page.browser.become_phone(390, 844);
    page.go("/dashboard#/scheduler");
    page.until("it is there", "shown(one('.scheduler-day > summary'))");
    let look =
        "((e) => `${getComputedStyle(e).display} ${e.offsetHeight >= 44}`)(one('.scheduler-day > summary'))";
    assert_eq!(page.browser.text(look), "list-item true", "only a list item has a marker");
    page.assert_clean();
}

#[test]
fn texts_name_what_a_phone_has() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for (language, help, rows) in [
        ("en", "Keyboard shortcuts", ["Send Ctrl + Enter", "New line Enter"]),
        ("de", "Tastenkürzel", ["Senden Strg + Enter", "Neue Zeile Enter"]),
    ] {
        browser.resize(1280, 860);
        page.go(&format!("/?lang={language}#/{language}"));
        page.become_phone(390, 844);
        browser.run(&format!("one('[aria-label=\"{help}\"]').click()"), &[]);
        page.until("the help is open", "one('dialog[open] dl')");
        let shown = "all('dialog dt').slice(0, 2).map((e) => `${e.innerText} ${e.nextElementSibling.innerText}`).join('|')";
        assert_eq!(browser.text(shown), rows.join("|"));
        page.go(&format!("/dashboard?lang={language}#/nowhere"));
        page.until("it says that there is nothing", "/nowhere/.test(one('main')?.innerText)");
        let wrong = "/Ctrl|Strg|left|links/i.exec(one('main').innerText)?.[0] ?? ''";
        assert_eq!(browser.text(wrong), "", "{language}");
    }
    // With a mouse, and so with a keyboard, Enter sends.
    let Some(page) = Page::open(&[]) else { return };
    page.browser.click("[aria-label='Keyboard shortcuts']");
    page.until("the help is open", "one('dialog[open] dd')?.innerText === 'Enter'");
    page.assert_clean();
}
