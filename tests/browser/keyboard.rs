//! Without a mouse, and on a phone.

use aethon_tests::browser::keys::{DOWN, ENTER, ESCAPE, SHIFT, TAB};

use crate::page::Page;

/// Numbers every control that can be seen, so that it can be recognised when it has the focus. Beside the document, because
/// the page compares the rendered state with the next one.
const MARK: &str = "window.controls = all('a[href], button, input, textarea, select, summary, [tabindex]')
        .filter((e) => shown(e) && !e.disabled && e.tabIndex >= 0);
    return window.controls.length;";

/// The focused control, and whether one sees that it has the focus.
const FOCUSED: &str = "const e = document.activeElement;
    const ring = (e) => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0; };
    const composer = e.closest('.composer');
    const seen = ring(e) || (e.matches('textarea') && composer && getComputedStyle(composer).boxShadow !== 'none');
    const number = window.controls.indexOf(e);
    return [number < 0 ? null : String(number), Boolean(seen), e.outerHTML.slice(0, 160)];";

/// Tabs through the whole page once and returns the elements not reached, and those reached without a visible focus.
fn walk(page: &Page) -> (Vec<String>, Vec<String>) {
    let browser = &page.browser;
    let count = browser.run(MARK, &[]).as_u64().unwrap();
    let (mut reached, mut unseen) = (std::collections::BTreeSet::new(), Vec::new());
    for _ in 0..count + 30 {
        browser.chord(&[TAB]);
        let focused = browser.run(FOCUSED, &[]);
        if focused[1] == false && focused[0].is_string() {
            unseen.push(focused[2].to_string());
        }
        reached.extend(focused[0].as_str().map(str::to_owned));
    }
    let all = (0..count).map(|number| number.to_string());
    let missed = all.filter(|number| !reached.contains(number));
    let missed =
        missed.map(|number| browser.text(&format!("window.controls[{number}].outerHTML.slice(0, 160)")));
    (missed.collect(), unseen)
}

#[test]
fn every_control_is_reachable_with_visible_focus() {
    let Some(page) = Page::open(&[]) else { return };
    page.until("the suggestions are there", "shown(one('.suggestions button'))");
    assert_eq!(walk(&page), (vec![], vec![]), "of the empty chat");
    page.ask("hello");
    page.ask("!tool current_time {}");
    assert_eq!(walk(&page), (vec![], vec![]), "of a conversation");
    page.go("/dashboard");
    page.until(
        "the dashboard is there",
        "/Running/.test(one('.cards')?.innerText) && /Live/.test(one('.panel-top').innerText)",
    );
    assert_eq!(walk(&page), (vec![], vec![]), "of the dashboard");
    page.assert_clean();
}

#[test]
fn dialogs_and_menus_trap_and_restore_focus() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say hello");
    page.until("it is listed", "one('[aria-label=\"Options for !say hello\"]')");
    // The help, by its key, from nowhere in particular.
    browser.run("one('[aria-label=\"Keyboard shortcuts\"]').focus()", &[]);
    browser.chord(&[ENTER]);
    page.until("it is open", "one('dialog[open] dl') && document.activeElement.closest('dialog')");
    for _ in 0..4 {
        browser.chord(&[TAB]);
        assert!(
            browser
                .is("document.activeElement === document.body || document.activeElement.closest('dialog')"),
            "{}",
            page.focused()
        );
    }
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
    assert_eq!(page.focused(), "button Keyboard shortcuts");

    // A menu, its entries by arrows, a dialog from it, and back.
    browser.run("one('.session a').focus()", &[]);
    browser.chord(&[TAB]);
    assert_eq!(page.focused(), "button Options for !say hello");
    browser.chord(&[ENTER]);
    page.until("the first entry has the focus", "document.activeElement.role === 'menuitem'");
    browser.chord(&[ESCAPE]);
    page.until("the menu is closed", "!one('[role=menu]')");
    assert_eq!(page.focused(), "button Options for !say hello");
    browser.chord(&[ENTER]);
    page.until("the menu is open", "document.activeElement.innerText === 'Pin'");
    // Rename, move, archive, two files, a selection, delete.
    for _ in 0..7 {
        browser.chord(&[DOWN]);
    }
    assert_eq!(page.focused(), "button Delete");
    browser.chord(&[ENTER]);
    page.until(
        "it asks, with the way out first",
        "one('dialog[open]') && document.activeElement.innerText === 'Cancel'",
    );
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
    assert_eq!(page.focused(), "button Options for !say hello");

    // The keys of the page.
    browser.chord(&['/']);
    page.until("the box has the focus", "document.activeElement.id === 'message'");
    assert_eq!(browser.text("one('#message').value"), "", "the key itself writes nothing");
    browser.chord(&[SHIFT, TAB]);
    browser.chord(&['?']);
    page.until("the help is open", "one('dialog[open] dl')");
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
    page.assert_clean();
}

#[test]
fn on_a_phone_nothing_is_wider_than_the_page() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.become_phone(390, 844);
    browser.reload();
    page.until("the page is there", "shown(one('.welcome'))");
    let fits = |what: &str| {
        let wide = browser.text("document.documentElement.scrollWidth + ' ' + document.body.scrollWidth + ' ' + one('.transcript').scrollWidth + ' ' + one('.transcript').clientWidth");
        let wide: Vec<u32> = wide.split(' ').map(|number| number.parse().unwrap()).collect();
        assert!(
            wide[0] <= 390 && wide[1] <= 390 && wide[2] <= wide[3],
            "{what} is wider than the page: {wide:?}"
        );
    };
    fits("the empty chat");
    page.ask("hello");
    fits("a rich reply");
    let code = format!("!say ```rust\n!say let wide = \"{}\";\n!say ```", "x".repeat(300));
    page.ask(&code);
    fits("long code");
    let row = |cell: &str| format!("!say |{}", format!(" {cell} |").repeat(14));
    page.ask(&[row("column"), row("---"), row("somewhat long")].join("\n"));
    fits("a wide table");
    page.ask(&format!("!say {} https://example.com/{}", "w".repeat(200), "y".repeat(200)));
    fits("a long word");
    page.ask(&format!("!tool file_read {{\"path\": \"{}\"}}", "z".repeat(300)));
    browser.run("one('details.fold').open = true", &[]);
    fits("an opened tool");

    assert!(!browser.is("shown(one('.sidebar'))"), "the list is away");
    browser.click("[aria-label='Show conversations']");
    page.until(
        "the drawer is open",
        "shown(one('.sidebar')) && one('.sidebar').getBoundingClientRect().left === 0",
    );
    fits("the drawer");
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!shown(one('.sidebar'))");
    browser.click("[aria-label='Show conversations']");
    page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
    browser.run("one('.scrim').click()", &[]);
    page.until("it is closed", "!shown(one('.sidebar'))");
    browser.click("[aria-label='Show conversations']");
    page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
    browser.click("//aside//button[normalize-space()='New chat']");
    page.until("a new chat is open", "!shown(one('.sidebar')) && shown(one('.welcome'))");
    page.go("/dashboard");
    page.until("the dashboard is there", "shown(one('.cards'))");
    assert!(
        browser.is("document.documentElement.scrollWidth <= 390"),
        "the dashboard is wider than the page"
    );
    for panel in ["approvals", "logs"] {
        page.go(&format!("/dashboard#/{panel}"));
        page.until("the panel is there", &format!("one('h1')?.innerText.toLowerCase() === '{panel}'"));
        assert!(browser.is("!shown(one('.rail'))"), "the list of panels covers {panel}");
    }
    page.assert_clean();
}
