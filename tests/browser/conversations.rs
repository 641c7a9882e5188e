//! Many conversations, second thoughts, and files that go along.

use std::io::Write as _;
use std::path::PathBuf;

use aethon_tests::browser::keys::{CONTROL, ENTER, UP};
use aethon_tests::{Server, eventually};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use crate::page::Page;

/// Opens the menu of a conversation by its title and picks an entry.
fn pick(page: &Page, title: &str, entry: &str) {
    let options = format!("one('[aria-label=\"Options for {title}\"]')");
    page.until("the conversation is listed", &options);
    page.browser.run(&format!("{options}.closest('li').querySelector('a').focus(); {options}.click();"), &[]);
    page.browser.click(&format!("//button[@role='menuitem'][normalize-space()='{entry}']"));
}

fn listed(page: &Page) -> String {
    page.browser.text("all('.session-title').map((e) => e.innerText).join('|')")
}

#[test]
fn conversations_are_created_found_renamed_and_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say about apples");
    for fruit in ["pears", "plums"] {
        browser.click_words("New chat");
        page.until("it is empty", "shown(one('.welcome')) && all('.turn').length === 0");
        page.ask(&format!("!say about {fruit}"));
    }
    page.until("all are listed", "all('.session-title').length === 3");
    assert_eq!(browser.text("all('.session[data-current]').length"), "1");
    assert!(
        page.browser.is("one('.session[data-current]').innerText.includes('plums')"),
        "{}",
        listed(&page)
    );

    browser.chord(&[CONTROL, 'k']);
    page.until("the search has the focus", "document.activeElement.type === 'search'");
    browser.type_keys("apples");
    page.until(
        "one is found",
        "all('.session-title').length === 1 && /apples/.test(one('.session-title').innerText)",
    );
    browser.click(".session a");
    page.until("the older one is back", "one('.reply .prose')?.innerText === 'about apples'");
    page.fill("[type=search]", "no such fruit");
    page.until("it says so", "/No conversation matches/.test(one('.sessions').innerText)");
    page.fill("[type=search]", "");
    page.until("all are listed", "all('.session-title').length === 3");

    pick(&page, "!say about pears", "Rename");
    page.until("a dialog asks", "document.activeElement.id === 'prompt-input'");
    browser.type_keys("Fruit & <b>veg</b>");
    browser.chord(&[ENTER]);
    page.until("it has its title", "all('.session-title').some((e) => e.innerText === 'Fruit & <b>veg</b>')");
    pick(&page, "Fruit & <b>veg</b>", "Pin");
    page.until("it is first", "/^Pinned/.test(one('.sessions').innerText.trim())");

    pick(&page, "!say about plums", "Delete");
    page.until("it asks", "/gone for good/.test(one('dialog[open]')?.innerText)");
    browser.click_words("Cancel");
    page.until("nothing happened", "!one('dialog') && all('.session-title').length === 3");
    pick(&page, "!say about plums", "Delete");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it is gone", "all('.session-title').length === 2");
    assert!(!listed(&page).contains("plums"), "{}", listed(&page));
    browser.reload();
    // The titles are there before the page is painted, and until then `innerText` is empty.
    page.until("the rest is shown", "all('.session-title').filter((e) => e.innerText).length === 2");
    let titles = listed(&page);
    assert_eq!(titles, "Fruit & <b>veg</b>|!say about apples", "the pin and the title stay");
    assert_eq!(page.server().get("/api/sessions").json()["count"], 2);
    page.assert_clean();
}

/// The groups of the list and what is in them, without what is folded.
fn groups(page: &Page) -> String {
    // The inner text of a row is empty until its first frame (`content-visibility`).
    let script = "[...document.querySelectorAll('.sessions > h2')].map((h) => `${h.innerText}: ${
        [...h.nextElementSibling.querySelectorAll('.session-title')].map((e) => e.textContent).join(', ')}`).join('; ')";
    page.browser.text(script)
}

#[test]
fn conversations_are_kept_in_folders_and_in_the_archive() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for name in ["one", "two", "three"] {
        browser.click_words("New chat");
        page.until("it is empty", "shown(one('.welcome')) && all('.turn').length === 0");
        page.ask(&format!("!say {name}"));
    }
    page.until("all are listed", "all('.session-title').length === 3");
    assert_eq!(groups(&page), "Today: !say three, !say two, !say one");

    pick(&page, "!say one", "Move to a folder");
    page.until("a dialog asks", "document.activeElement.id === 'prompt-input'");
    browser.type_keys("Work");
    browser.chord(&[ENTER]);
    page.until("it has moved", "/^Work/.test(one('.sessions').innerText.trim())");
    assert_eq!(groups(&page), "Work: !say one; Today: !say three, !say two");
    pick(&page, "!say two", "Move to a folder");
    page.until("the folder is offered", "one('dialog datalist option')?.value === 'Work'");
    browser.type_keys("Work");
    browser.chord(&[ENTER]);
    page.until("both are there", "all('.sessions > ul')[0].querySelectorAll('.session').length === 2");

    pick(&page, "!say three", "Archive");
    page.until(
        "it is folded",
        "one('.archived summary')?.innerText === 'Archived (1)' && !shown(one('.archived .session'))",
    );
    assert_eq!(groups(&page), "Work: !say two, !say one");
    browser.click_words("Undo");
    page.until("it is back", "!one('.archived') && all('.session-title').length === 3");
    pick(&page, "!say three", "Archive");
    page.until("it is folded again", "Boolean(one('.archived'))");

    // Another page of this owner sees the same, also after a restart of the browser.
    browser.reload();
    page.until("the list is there", "all('.session-title').filter((e) => e.innerText).length === 2");
    assert_eq!(groups(&page), "Work: !say two, !say one");
    page.fill("[type=search]", "three");
    page.until(
        "a search finds it",
        "all('.session-title').length === 1 && /three/.test(one('.session-title').innerText)",
    );
    page.fill("[type=search]", "");
    page.until("the list is back", "Boolean(one('.archived summary'))");
    browser.click(".archived summary");
    pick(&page, "!say three", "Back to the list");
    page.until("it is listed", "!one('.archived')");
    pick(&page, "!say two", "Move to a folder");
    page.until("a dialog asks", "document.activeElement.id === 'prompt-input'");
    page.fill("#prompt-input", "");
    browser.chord(&[ENTER]);
    page.until("it is out", "all('.sessions > ul')[0].querySelectorAll('.session').length === 1");
    assert_eq!(groups(&page), "Work: !say one; Today: !say three, !say two");
    let listed = page.server().get("/api/sessions").json()["sessions"].clone();
    let of = |title: &str| listed.as_array().unwrap().iter().find(|it| it["title"] == title).unwrap().clone();
    assert_eq!(
        (&of("!say one")["folder"], &of("!say two")["folder"]),
        (&json!("Work"), &Value::Null),
        "{listed}"
    );
    page.assert_clean();
}

#[test]
fn pins_of_this_browser_become_those_of_the_server() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say kept");
    let name = page.browser.text("decodeURIComponent(location.hash.slice(2))");
    page.browser.run("localStorage.setItem('aethon.pinned', JSON.stringify([arguments[0]]))", &[json!(name)]);
    page.browser.reload();
    page.until("it is pinned", "/^Pinned/.test(one('.sessions').innerText.trim())");
    page.until("by the server", "localStorage.getItem('aethon.pinned') === null");
    eventually("the server knows", || {
        let is_pinned = page.server().get("/api/sessions").json()["sessions"][0]["pinned"] == true;
        is_pinned.then_some(())
    });
    page.assert_clean();
}

#[test]
fn reply_is_retried_and_message_edited() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say one");
    page.ask("!say two");
    browser.run("window.before = one('.turn:last-child').dataset.turn", &[]);
    browser.click(".turn:last-child .reply [aria-label='Answer again']");
    page.until(
        "it is another turn",
        "one('.turn:last-child').dataset.turn !== before && !one('[data-live]')",
    );
    let said: Vec<String> = page.turns().into_iter().map(|turn| turn.reply).collect();
    assert_eq!(said, ["one", "two"]);

    browser.run("one('#message').focus()", &[]);
    browser.chord(&[UP]);
    page.until("the last message is open", "document.activeElement.matches('.edit-box textarea')");
    browser.type_keys(" and a half");
    browser.chord(&[ENTER]);
    page.until(
        "it is answered",
        "all('.reply .prose').at(-1)?.innerText === 'two and a half' && !one('[data-live]')",
    );
    let said: Vec<String> = page.turns().into_iter().map(|turn| turn.said).collect();
    assert_eq!(said, ["!say one", "!say two and a half"]);
    // From the first on: what followed is replaced.
    browser.run("one('.turn [aria-label=\"Edit your message\"]').click()", &[]);
    page.until("it is open", "document.activeElement.matches('.edit-box textarea')");
    browser.type_keys(" again");
    browser.click("//div[@class='edit-box']//button[normalize-space()='Send']");
    page.until(
        "it is answered",
        "all('.turn').length === 1 && one('.reply .prose')?.innerText === 'one again' && !one('[data-live]')",
    );
    browser.reload();
    page.until(
        "the same after a reload",
        "all('.turn').length === 1 && one('.reply .prose')?.innerText === 'one again'",
    );
    page.assert_clean();
}

#[test]
fn message_sent_during_a_reply_waits_for_its_turn() {
    let Some(page) = Page::open(&[]) else { return };
    page.say("!stream 80 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token2')");
    page.say("!say second");
    page.say("!say third");
    page.until("one waits", "/Queued behind one message/.test(all('.turn')[1]?.innerText)");
    page.until("and another", "/Queued behind 2 messages/.test(all('.turn')[2]?.innerText)");
    let last = page.settled();
    let replies: Vec<String> = page.turns().into_iter().map(|turn| turn.reply).collect();
    assert_eq!(
        (last.reply.as_str(), &replies[1..]),
        ("third", &["second".to_owned(), "third".to_owned()][..])
    );
    page.assert_clean();
}

#[test]
fn pictures_and_texts_are_attached_and_programs_refused() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = browser.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let picture = write("square.png", &png(40, 30));
    let text = write("list.txt", "eggs, flour, größere Löffel\n".as_bytes());
    let program = write("setup.exe", b"MZ\x90\x00\x03\x00\x00\x00");
    browser.give_files("[type=file]", &[picture, text]);
    page.until("both are attached", "all('.composer-file').length === 2");
    page.until("the picture is shown", "one('.composer-file img')?.naturalWidth === 40");
    browser.give_files("[type=file]", &[program]);
    page.until("it is refused", "/setup\\.exe was not attached/.test(one('.composer-error').innerText)");
    assert_eq!(browser.text("all('.composer-file').length"), "2");
    browser.click("[aria-label='Remove list.txt']");
    page.until("it is taken off", "all('.composer-file').length === 1");
    browser.give_files("[type=file]", &[browser.folder().join("list.txt")]);
    page.until("and put on again", "all('.composer-file').length === 2");
    let turn = page.ask("!say seen");
    assert_eq!((turn.said.as_str(), turn.reply.as_str()), ("!say seen", "seen"));
    for when in ["sent", "stored"] {
        page.until("the picture is shown", "one('.said-files img')?.naturalWidth === 40");
        page.until("the text is named", "one('.said-files .file-chip')?.innerText === 'list.txt'");
        browser.click(".said-files .file-chip");
        page.until("the text is shown", "/größere Löffel/.test(one('dialog[open]')?.innerText)");
        browser.click_words("Close");
        page.until("it is closed", "!one('dialog')");
        browser.click(".said-files [aria-label^='Open ']");
        page.until("the picture is large", "one('dialog[open] img')?.naturalHeight === 30");
        browser.click_words("Close");
        if when == "sent" {
            browser.reload();
        }
    }
    page.assert_clean();
}

#[test]
fn the_way_back_leads_to_the_conversation_before() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.until("the address names it", "location.hash === '#/default'");
    page.ask("!say first");
    browser.click_words("New chat");
    page.until("it is empty", "shown(one('.welcome')) && all('.turn').length === 0");
    page.ask("!say second");
    browser.run("history.back()", &[]);
    page.until("the first is back", "one('.reply .prose')?.innerText === 'first'");
    assert_eq!(browser.text("location.hash"), "#/default");
    browser.run("history.forward()", &[]);
    page.until("and the second", "one('.reply .prose')?.innerText === 'second'");
    page.assert_clean();
}

#[test]
fn title_is_shown_during_a_search_and_a_remote_deletion_is_reported() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say first");
    page.fill("[type=search]", "no such thing");
    page.until("nothing is found", "/No conversation matches/.test(one('.sessions').innerText)");
    browser.click_words("New chat");
    page.until("it is empty", "shown(one('.welcome')) && all('.turn').length === 0");
    page.ask("!say a new one");
    page.until("it has its title", "one('h1').innerText === '!say a new one'");
    page.fill("[type=search]", "");
    page.until("both are listed", "all('.session-title').length === 2");
    // In another window, to which the person went and from which they come back.
    let delete = "const name = encodeURIComponent(`webchat:${location.hash.slice(2)}`);
        await fetch(`/api/sessions/${name}`, {method: 'DELETE', headers: {'Content-Type': 'application/json'}});
        document.dispatchEvent(new Event('visibilitychange'));";
    browser.run(delete, &[]);
    page.until("it says so", "/was deleted elsewhere/.test(one('.dock .note')?.innerText)");
    assert_eq!(page.turns().len(), 1, "what can be read stays");
    page.say("!say begun anew");
    page.until(
        "only that is there",
        "all('.turn').length === 1 && one('.reply .prose')?.innerText === 'begun anew'",
    );
    assert!(!browser.is("one('.dock .note')"), "it is there again");
    page.assert_clean();
}

#[test]
fn chat_page_without_a_dashboard_names_the_missing_parts() {
    let Some(page) = Page::open(&["dashboard.enabled=false"]) else { return };
    page.until("it says so", "/Past messages are not shown/.test(one('.welcome').innerText)");
    page.ask("!say my own words");
    page.browser.reload();
    page.until(
        "what was said is still above the reply",
        "one('.turn .said-text')?.innerText === '!say my own words'",
    );
    page.until("and why nothing else", "/Past messages are not shown/.test(one('.older').innerText)");
    assert!(!page.browser.is("shown(one('a[href=\"/dashboard\"]'))"), "there is no dashboard to go to");
    page.assert_clean();
}

/// A picture of one colour.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..height {
        packed.write_all(&[0]).unwrap();
        packed.write_all(&[200, 120, 60].repeat(width as usize)).unwrap();
    }
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    for (kind, content) in [(b"IHDR", head), (b"IDAT", packed.finish().unwrap()), (b"IEND", Vec::new())] {
        let content = [&kind[..], &content].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&content);
        bytes.extend(u32::try_from(content.len() - 4).unwrap().to_be_bytes());
        bytes.extend(&content);
        bytes.extend(sum.sum().to_be_bytes());
    }
    bytes
}

#[test]
fn several_conversations_are_selected_archived_and_deleted_together() {
    let server = Server::start(&["model.provider=echo"]);
    for name in ["one", "two", "three", "four"] {
        let mut socket = server.socket(&format!("/ws/chat?session={name}"));
        socket.send(name);
        socket.text();
    }
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    // What is unread stands in a group of its own.
    for name in ["one", "two", "three", "four"] {
        page.go(&format!("/#/{name}"));
        page.until("it is open", &format!("one('[data-name={name}][data-current]') !== null"));
        page.until(
            "it is read",
            &format!("all('.turn').length === 1 && !one('[data-name={name}] .session-unread')"),
        );
    }
    page.until("nothing is unread", "one('.session-unread') === null");
    page.until("all are listed", "all('.session').length === 4");
    let names = "all('.sessions > ul .session').map((e) => e.dataset.name).join(' ')";
    assert_eq!(browser.text(names), "four three two one");
    browser.run("one('[data-name=three] button').click()", &[]);
    browser.click("//button[@role='menuitem'][normalize-space()='Select several']");
    page.until("one is selected", "one('.selection-count').textContent === '1 selected'");
    browser.click("[data-name=two] .session-check");
    page.until("two are", "one('.selection-count').textContent === '2 selected'");
    browser.click("[data-name=two] a");
    page.until("a press on the row takes it out", "one('.selection-count').textContent === '1 selected'");
    assert!(browser.is("location.hash === '#/four'"), "and does not open it");
    browser.run(
        "one('[data-name=one] a').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, shiftKey: true}))",
        &[],
    );
    page.until("a range", "one('.selection-count').textContent === '3 selected'");
    browser.click("[data-name=one] .session-check");
    browser.click("[aria-label='Archive the selected conversations']");
    page.until("they are archived", "one('.archived summary')?.textContent === 'Archived (2)'");
    assert_eq!(browser.text(names), "four one");
    assert!(!browser.is("shown(one('.selection'))"), "the selection has ended");
    browser.click("//div[@class='toast'][contains(., '2 conversations are archived')]/button");
    page.until("and back", "all('.sessions > ul .session').length === 4 && !one('.archived')");

    browser.run("one('[data-name=three] button').click()", &[]);
    browser.click("//button[@role='menuitem'][normalize-space()='Select several']");
    browser.click("[data-name=one] .session-check");
    browser.click("[aria-label='Move the selected conversations to a folder']");
    page.fill("#prompt-input", "Trips");
    browser.chord(&[ENTER]);
    page.until("they are in the folder", "all('.sessions > h2').some((e) => e.textContent === 'Trips')");

    browser.run("one('[data-name=three] button').click()", &[]);
    browser.click("//button[@role='menuitem'][normalize-space()='Select several']");
    browser.click("[data-name=four] .session-check");
    browser.click("[aria-label='Delete the selected conversations']");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("they are gone", "all('.session').length === 2");
    page.until("the open one was among them", "shown(one('.welcome'))");
    let left = page.server().get("/api/sessions?channel=webchat").json();
    let left: Vec<_> =
        left["sessions"].as_array().unwrap().iter().map(|one| one["session_id"].clone()).collect();
    assert_eq!(left, ["webchat:two", "webchat:one"]);
    page.assert_clean();
}
