//! The pages in German: chosen by the browser or by the reader, whole from the first paint, and nothing of it in English.

use serde_json::json;

use aethon_tests::Server;

use crate::accessibility::{assert_no_barriers, assert_no_barriers_in_both};
use crate::page::Page;
use crate::used_server::{UsedServer, one_line};

/// Notes every text that is on a page at any time, under the language that the page has then.
const WATCH: &str = "addEventListener('DOMContentLoaded', () => {
    window.seen = '';
    const look = () => { window.seen += document.body.innerText + '\\n'; };
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
    look();
});";

/// Makes the browser one whose owner reads these languages.
fn read_languages(page: &Page, languages: &str) {
    let agent = page.browser.text("navigator.userAgent");
    page.browser.devtools(
        "Emulation.setUserAgentOverride",
        &json!({"userAgent": agent, "acceptLanguage": languages}),
    );
}

/// A server and a browser that prefers German.
fn open_in_german(settings: &[&str]) -> Option<Page> {
    let page = Page::beside(Server::start(settings))?;
    read_languages(&page, "de-DE,de,en");
    page.go("/");
    page.until("the page is connected", "shown(one('#message')) && !one('.skeleton')");
    Some(page)
}

#[test]
fn german_browser_reads_german_from_the_first_paint_on() {
    let Some(page) = open_in_german(&[]) else { return };
    let browser = &page.browser;
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": WATCH}));
    browser.reload();
    page.until("it is there", "shown(one('.suggestions button')) && window.seen");
    assert_eq!(browser.text("document.documentElement.lang"), "de");
    assert_eq!(browser.text("one('#message').placeholder"), "Nachricht schreiben");
    let english = "/Write a message|New chat|Good (morning|afternoon|evening)|Conversations|Enter sends/.exec(window.seen)?.[0] ?? ''";
    assert_eq!(browser.text(english), "", "English was there first");
    assert!(browser.is("/Guten (Morgen|Tag|Abend)/.test(window.seen)"), "it was watched");
    assert_no_barriers_in_both(browser, "the empty chat in German");

    assert_eq!(page.ask("!say fertig").reply, "fertig");
    page.say("!error auth 9");
    page.settled();
    assert!(browser.is("/Das hat nicht geklappt/.test(document.body.innerText)"));
    browser.click("[aria-label=Tastenkürzel]");
    page.until("the help is open", "/Strg/.test(one('dialog[open]')?.innerText)");
    assert_no_barriers_in_both(browser, "the help in German");
    page.assert_clean();
}

#[test]
fn english_browser_loads_nothing_german() {
    let Some(page) = Page::open(&[]) else { return };
    for path in ["/", "/dashboard#/usage", "/docs"] {
        page.go(path);
        page.until("it is there", "shown(one('h1, .welcome'))");
        let foreign = "performance.getEntriesByType('resource').filter(({name}) => /texts/.test(name)).map(({name}) => name).join()";
        assert_eq!(page.browser.text(foreign), "", "{path}");
        assert_eq!(page.browser.text("document.documentElement.lang"), "en", "{path}");
    }
    page.assert_clean();
}

#[test]
fn reader_chooses_the_language_and_loses_nothing_typed() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.fill("#message", "half a thought");
    browser.click("[aria-label=Language]");
    page.until("the list is open", "shown(one('[role=menuitemradio]'))");
    assert_eq!(
        browser.text("all('[role=menuitemradio]').map((it) => `${it.innerText} ${it.ariaChecked}`).join()"),
        "As in the browser true,English false,Deutsch false"
    );
    assert_no_barriers(browser, "the list of languages");
    browser.run("all('[role=menuitemradio]').at(-1).click()", &[]);
    page.until("the page is German", "document.documentElement.lang === 'de' && shown(one('#message'))");
    page.until("what was typed is there", "one('#message').value === 'half a thought'");
    // The choice is that of this browser, on every page of Aethon and in the next visit.
    page.go("/dashboard");
    page.until("the dashboard is German", "/Übersicht/.test(one('.rail')?.innerText)");
    page.go("/docs");
    page.until("the documentation is German", "/Alle Routen/.test(document.body.innerText)");
    // An address wins over it, and is kept.
    page.go("/dashboard?lang=en");
    page.until("the dashboard is English", "/Overview/.test(one('.rail')?.innerText)");
    page.go("/dashboard?lang=tlh");
    page.until("an unknown language changes nothing", "/Overview/.test(one('.rail')?.innerText)");
    // The choice wins over the address from which it is made.
    page.go("/dashboard?lang=de#/logs");
    page.until("the dashboard is German again", "/Protokolle/.test(one('h1')?.innerText)");
    browser.click("[aria-label=Sprache]");
    page.until("the list is open again", "shown(one('[role=menuitemradio]'))");
    browser.run("all('[role=menuitemradio]')[0].click()", &[]);
    page.until(
        "it is as in the browser",
        "document.documentElement.lang === 'en' && /Logs/.test(one('h1')?.innerText)",
    );
    assert_eq!(browser.text("location.search + location.hash"), "#/logs");
    page.assert_clean();
}

#[test]
fn page_is_english_if_its_language_cannot_be_loaded() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.devtools("Network.enable", &json!({}));
    browser.devtools("Network.setBlockedURLs", &json!({"urls": ["*/texts/de/*"]}));
    page.go("/?lang=de");
    page.until("it is there", "shown(one('#message')) && !one('.skeleton')");
    assert_eq!(browser.text("document.documentElement.lang"), "en");
    assert_eq!(browser.text("one('#message').placeholder"), "Write a message");
    assert_eq!(page.ask("!say done").reply, "done");
    let _ = browser.complaints();
    browser.devtools("Network.setBlockedURLs", &json!({"urls": []}));
    browser.reload();
    page.until("it is German now", "one('#message')?.placeholder === 'Nachricht schreiben'");
    page.assert_clean();
}

/// Heads of columns, placeholders and choices that are cut, and buttons that sort and do not name their column as it is written.
const CUT: &str = "const pen = document.createElement('canvas').getContext('2d');
    const isCut = (field, text) => {
        const style = getComputedStyle(field);
        pen.font = style.font;
        return pen.measureText(text).width > field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 1;
    };
    const heads = all('main th .sort').filter((e) => shown(e) && e.scrollWidth > e.clientWidth).map((e) => e.innerText);
    const misnamed = all('th .sort').filter((e) => !e.title.includes(e.textContent)).map((e) => e.title);
    const fields = all('main [placeholder], dialog [placeholder]').filter((e) => shown(e) && e.matches('input') && isCut(e, e.placeholder));
    const choices = all('dialog select').filter(shown).flatMap((e) => [...e.options].filter((one) => isCut(e, one.text)).map((one) => one.text));
    return [...heads, ...misnamed, ...fields.map((e) => e.placeholder), ...choices]";

#[test]
fn dashboard_is_whole_in_german() {
    let words = ["Plans for the garden", "Rent is due on the 5th.\nPay it."].map(str::to_owned);
    let Some(used_server) = UsedServer::open(&words) else { return };
    let page = &used_server.page;
    let browser = &page.browser;
    read_languages(page, "de-DE,de");
    browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    for width in [1440, 390] {
        if width == 390 {
            browser.become_phone(390, 844);
        } else {
            browser.resize(width, 900);
        }
        for view in &used_server.views {
            // Some presses look for English words.
            match view.press {
                Some((press, _)) if press.contains("innerText") => used_server.load(view),
                _ => used_server.visit(view),
            }
            let what = format!("{} at {width}", one_line(&view.address));
            assert_eq!(browser.text("document.documentElement.lang"), "de", "{what}");
            assert!(browser.is("document.documentElement.scrollWidth <= innerWidth"), "{what} is too wide");
            // Texts of the page that no person, tool or server says in these views.
            let english = "/Show more|newest first|Nothing matches|All channels|All sessions|Needs attention|Last used|could not be loaded|Nothing found|Not run yet|Search (messages|titles|decisions|recordings)/.exec(one('main').innerText + all('main [placeholder]').map((it) => it.placeholder))?.[0] ?? ''";
            assert_eq!(browser.text(english), "", "{what}");
            if width == 1440 {
                assert_no_barriers(browser, &what);
            }
        }
    }
    page.assert_clean();
}

#[test]
fn german_heads_placeholders_and_choices_are_whole() {
    let Some(used_server) = UsedServer::open(&["Plans for the garden".to_owned()]) else { return };
    let (page, browser) = (&used_server.page, &used_server.page.browser);
    read_languages(page, "de-DE,de");
    let mut faults = Vec::new();
    for width in [1280, 390] {
        if width == 390 {
            browser.become_phone(390, 844);
        } else {
            browser.resize(width, 900);
        }
        let wanted = ["recordings", "monitor", "scheduler/new"];
        let views: Vec<_> =
            used_server.views.iter().filter(|view| wanted.contains(&view.address.as_str())).collect();
        assert!(views.len() >= wanted.len());
        for view in views {
            used_server.load(view);
            let found = browser.run(CUT, &[]);
            if found != json!([]) {
                faults.push(format!("{} at {width}: {found}", view.address));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    page.assert_clean();
}

#[test]
fn questions_in_german_quote_as_german_does() {
    let Some(page) = open_in_german(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say hallo");
    let delete = "//button[@role='menuitem'][normalize-space()='Löschen']";
    let asks = "/„!say hallo“/.test(one('dialog[open]')?.innerText)";
    page.until("it is listed", "one('.session button')");
    browser.run("one('.session a').focus(); one('.session button').click()", &[]);
    browser.click(delete);
    page.until("the chat asks", asks);
    page.go("/dashboard#/sessions");
    page.until("it is listed", "one('td.is-actions button')");
    browser.click("td.is-actions button");
    browser.click(delete);
    page.until("the dashboard asks", asks);
    page.assert_clean();
}

#[test]
fn signing_in_is_german() {
    let Some(page) = Page::beside(Server::start(&["dashboard.auth_token=s3cret-t0ken-of-the-owner"])) else {
        return;
    };
    read_languages(&page, "de-AT");
    page.go("/dashboard");
    page.until(
        "it asks",
        "/Zugangstoken/.test(document.body.innerText) && document.title === 'Bei Aethon anmelden'",
    );
    assert_no_barriers_in_both(&page.browser, "signing in, in German");
}

#[test]
fn installed_page_is_german_without_the_server() {
    let Some(mut page) = open_in_german(&[]) else { return };
    page.until("the worker answers", "navigator.serviceWorker.controller?.state === 'activated'");
    page.browser.run(
        "(async () => { while (!(await caches.match('/language'))) await new Promise((go) => setTimeout(go, 50)); window.kept = true; })()",
        &[],
    );
    page.until("it knows the language", "window.kept");
    page.kill_server();
    page.browser.reload();
    page.until("the chat is German", "one('#message')?.placeholder === 'Nachricht schreiben'");
    page.go("/dashboard");
    page.until("the notice is German", "one('h1')?.innerText === 'Aethon ist nicht erreichbar'");
    assert_eq!(page.browser.text("document.documentElement.lang"), "de");
    page.go("/");
    page.until("the chat is there", "shown(one('#message'))");
}
