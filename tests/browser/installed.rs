//! The installed page: what a browser needs to install it, and what it does while the server is away.

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;
use serde_json::Value;

use crate::page::Page;

const TOKEN: &str = "s3cret-t0ken-of-the-owner";

/// Waits until the worker of this page has its copies and answers for it.
fn await_worker(page: &Page) {
    page.until(
        "the worker answers for the page",
        "navigator.serviceWorker.controller?.state === 'activated'",
    );
}

/// The addresses of everything that the worker has copied.
fn copies(page: &Page) -> Vec<String> {
    page.browser.run("(async () => { const all = []; for (const name of await caches.keys()) for (const one of await (await caches.open(name)).keys()) all.push(new URL(one.url).pathname + '|' + (await (await caches.match(one.url)).text()).length); window.copies = all; })()", &[]);
    let copies = page.until("they are listed", "window.copies");
    copies.as_array().expect("a list").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn the_manifest_and_icons_make_the_page_installable() {
    let Some(page) = Page::open(&["server.base_path=/aethon"]) else { return };
    for path in ["/aethon/", "/aethon/dashboard"] {
        page.go(path);
        page.until("it is there", "one('link[rel=manifest]')");
        let found = page.browser.devtools("Page.getAppManifest", &serde_json::json!({}));
        assert_eq!(found["errors"], serde_json::json!([]), "{found}");
        let manifest: Value =
            serde_json::from_str(found["data"].as_str().expect("a manifest")).expect("JSON");
        assert_eq!(manifest["display"], "standalone");
        let errors = page.browser.devtools("Page.getInstallabilityErrors", &serde_json::json!({}));
        let errors = errors["installabilityErrors"].as_array().cloned().unwrap_or_default();
        let errors: Vec<_> = errors.iter().filter(|error| error["errorId"] != "in-incognito").collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    for (theme, colour) in [("light", "#faf9f6"), ("dark", "#181715")] {
        page.browser.prefer(&[("prefers-color-scheme", theme)]);
        page.browser.reload();
        let shown = "all('meta[name=theme-color]').filter((it) => matchMedia(it.media).matches).map((it) => it.content)";
        page.until("the bar has the colour of the page", &format!("{shown}.join() === '{colour}'"));
    }
    page.browser.run("localStorage.setItem('aethon.theme', 'light')", &[]);
    page.browser.reload();
    let shown =
        "all('meta[name=theme-color]').filter((it) => matchMedia(it.media).matches).map((it) => it.content)";
    page.until("the switch counts more than the system", &format!("{shown}.join() === '#faf9f6'"));
    page.assert_clean();
}

#[test]
fn chat_opens_without_the_server_and_keeps_typed_text() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.ask("!say known only to the owner");
    await_worker(&page);
    let kept = copies(&page);
    assert!(kept.iter().any(|it| it.contains("js/chat/main.js")), "{kept:?}");
    assert!(kept.iter().all(|it| it.starts_with("/|") || it.starts_with("/dashboard/static/")), "{kept:?}");
    let home = page.kill_server();
    page.browser.reload();
    page.until("the chat is there", "shown(one('#message'))");
    page.until("it says that the server is away", "shown(one('.banner'))");
    assert!(!page.browser.is("document.body.innerText.includes('known only')"), "no copy of what was said");
    page.fill("#message", "written while it was away");
    page.browser.reload();
    page.until("it is kept", "one('#message')?.value === 'written while it was away'");
    page.go("/dashboard#/logs");
    page.until(
        "the dashboard says so too",
        "one('h1')?.innerText === 'Aethon is away' && one('.button-primary')",
    );
    page.start_server(home);
    page.browser.click(".button-primary");
    page.until("it is back", "one('h1')?.innerText === 'Logs'");
    page.go("/");
    page.until(
        "the chat is back, and what was written",
        "shown(one('.reply')) && one('#message').value.includes('away')",
    );
}

#[test]
fn a_new_version_replaces_the_copies_of_the_one_before() {
    let Some(page) = Page::open(&[]) else { return };
    await_worker(&page);
    page.browser.run("(async () => { const old = await caches.open('aethon / 0123456789abcdef'); await old.put('/old', new Response('x')); const other = await caches.open('another app'); await other.put('/x', new Response('x')); const { active } = await navigator.serviceWorker.getRegistration(); await navigator.serviceWorker.register(active.scriptURL + '&again', { scope: '/' }); })()", &[]);
    page.browser.run("setInterval(async () => { window.names = (await caches.keys()).join() }, 100)", &[]);
    page.until("the old copies are gone", "window.names && !window.names.includes('0123456789abcdef')");
    assert!(page.browser.is("window.names.includes('another app')"), "nothing of others is touched");
}

#[test]
fn signing_out_removes_the_worker_and_its_copies() {
    let setting = format!("dashboard.auth_token={TOKEN}");
    let Some(page) = Page::beside(Server::start(&[&setting])) else { return };
    page.go("/dashboard");
    page.until("it asks", "shown(one('#token'))");
    assert!(page.browser.is("navigator.serviceWorker.controller === null"), "no worker before the sign-in");
    page.fill("#token", TOKEN);
    page.browser.chord(&[ENTER]);
    page.until("the dashboard is there", "/Running/.test(one('.cards')?.innerText)");
    await_worker(&page);
    page.browser.click("//button[normalize-space()='Sign out']");
    page.until("it asks again", "document.title === 'Sign in to Aethon' && shown(one('#token'))");
    page.browser.run("setInterval(async () => { window.left = [await caches.keys(), await navigator.serviceWorker.getRegistrations()].flat().length }, 100)", &[]);
    page.until("nothing is left", "window.left === 0");
}

#[test]
fn a_phone_signs_in_with_the_code_that_the_channels_panel_shows() {
    let setting = format!("dashboard.auth_token={TOKEN}");
    let Some(page) = Page::beside(Server::start(&[&setting])) else { return };
    page.go("/dashboard#/channels");
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", TOKEN);
    page.browser.chord(&[ENTER]);
    page.until("the panel is there", "one('h1')?.innerText === 'Channels' && all('section h2').length > 2");
    page.browser.click("//button[normalize-space()='Sign in a phone']");
    page.until(
        "the code is drawn",
        "shown(one('dialog .qr')) && one('dialog .qr path').getAttribute('d').length > 1000",
    );
    let url = page.until("the address", "/http\\S+#sign-in=\\w+/.exec(one('dialog').innerText)?.[0]");
    let url = url.as_str().expect("an address").to_owned();
    // The phone has its own cookies.
    page.browser.try_command("DELETE", "/cookie", None).expect("cookies can be removed");
    page.browser.open("about:blank");
    page.browser.open(&url);
    page.until("the chat is there", "shown(one('#message')) && shown(one('.welcome'))");
    assert!(!page.browser.is("location.href.includes('sign-in=')"), "the code has left the address");
    page.browser.try_command("DELETE", "/cookie", None).expect("cookies can be removed");
    page.browser.open("about:blank");
    page.browser.open(&url);
    page.until("it asks for the token", "shown(one('#token'))");
    page.until("it says why", "/used already or is too old/.test(one('.toasts').innerText)");
}
