//! Pictures of the pages for people to look at: desktop and phone, light and dark. `cargo xtask shots DIR` writes them.

use std::path::{Path, PathBuf};

use aethon_tests::Server;

use crate::conversations::png;
use crate::page::Page;
use crate::used_server::UsedServer;

const ASKING: [&str; 3] =
    ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]", "model.max_retries=0"];

/// A window in a theme.
#[derive(Debug, Clone, Copy)]
struct Viewport {
    theme: &'static str,
    is_phone: bool,
}

const LOOKS: [Viewport; 4] = [
    Viewport { theme: "light", is_phone: false },
    Viewport { theme: "dark", is_phone: false },
    Viewport { theme: "light", is_phone: true },
    Viewport { theme: "dark", is_phone: true },
];

impl Viewport {
    fn put_on(self, page: &Page) {
        if self.is_phone {
            page.browser.become_phone(390, 844);
        }
        page.browser.prefer(&[("prefers-color-scheme", self.theme), ("prefers-reduced-motion", "reduce")]);
    }

    fn shoot(self, page: &Page, folder: &Path, scene: &str) {
        let size = if self.is_phone { "phone" } else { "desktop" };
        shoot(page, &folder.join(format!("{scene}-{size}-{}.png", self.theme)));
    }
}

/// Writes a picture of the page once it is drawn.
pub(crate) fn shoot(page: &Page, file: &Path) {
    page.until("fonts are there", "document.fonts.status === 'loaded'");
    // Two frames, so that the last change is drawn.
    page.browser
        .run("await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", &[]);
    page.browser.shoot(file);
}

/// The folder of the pictures; it is created.
pub(crate) fn folder() -> PathBuf {
    let folder = PathBuf::from(std::env::var_os("AETHON_SHOTS").expect("AETHON_SHOTS names the folder"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn say_lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("!say {line}")).collect::<Vec<_>>().join("\n")
}

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_the_chat() {
    let folder = folder();
    for look in LOOKS {
        let Some(mut page) = Page::open(&ASKING) else { return };
        look.put_on(&page);
        page.browser.reload();
        page.until("the page is there", "shown(one('.welcome'))");
        look.shoot(&page, &folder, "01-empty");
        page.ask("Good morning. What can you do for me today?");
        look.shoot(&page, &folder, "02-rich-reply");
        page.browser.run("one('.transcript').scrollTop = 0", &[]);
        look.shoot(&page, &folder, "03-rich-reply-top");
        code_and_tables(&page, look, &folder);
        tools_and_failures(&page, look, &folder);
        files(&page, look, &folder);
        lists_and_dialogs(&page, look, &folder);
        page.kill_server();
        page.until("the page says so", "shown(one('.banner'))");
        page.say("Is anybody there?");
        look.shoot(&page, &folder, "16-connection-lost");
    }
}

fn code_and_tables(page: &Page, look: Viewport, folder: &Path) {
    let line = "    let total: u64 = entries.iter().map(|entry| entry.amount * entry.price_in_cents).filter(|sum| *sum > 0).sum();";
    let mut code = vec![
        "Here is the function:",
        "",
        "```rust",
        "/// Adds everything up.",
        "fn total(entries: &[Entry]) -> u64 {",
    ];
    code.extend([line; 12]);
    code.extend([
        "    total // in cents",
        "}",
        "```",
        "",
        "It is `O(n)`, see [the book](https://example.com/book) and *have fun*.",
    ]);
    page.ask(&say_lines(&code));
    page.until("code is coloured", "all('.code').at(-1).querySelector('span[class^=hl-]')");
    look.shoot(page, folder, "04-long-code");
    let row = |cell: &str| format!("|{}", format!(" {cell} |").repeat(11));
    let rows: Vec<String> =
        ["Quantity", "---:", "1,024.50", "77.00", "3"].iter().map(|cell| row(cell)).collect();
    let mut table: Vec<&str> = vec!["## The figures", ""];
    table.extend(rows.iter().map(String::as_str));
    table.extend([
        "",
        "> A quotation, with a second thought",
        "> on a second line.",
        "",
        "---",
        "",
        "1. first",
        "2. second",
        "   - [x] done",
        "   - [ ] to do",
    ]);
    page.ask(&say_lines(&table));
    look.shoot(page, folder, "05-wide-table");
}

fn tools_and_failures(page: &Page, look: Viewport, folder: &Path) {
    page.ask("!tool current_time {}\n!then\n!say It is late. Sleep well.");
    page.browser.run("one('details.fold').open = true", &[]);
    page.ask("!error auth 2");
    look.shoot(page, folder, "06-tool-and-failure");
    page.say("!stream 500 20");
    page.until("it streams", "one('.turn[data-live] .prose')?.innerText.includes('token30')");
    look.shoot(page, folder, "07-streaming");
    page.browser.click("[aria-label=Stop]");
    page.settled();
    look.shoot(page, folder, "08-stopped");
    let path = "accounts/2026/november/very-long-name-of-a-file-that-somebody-wrote.txt\u{202e}fdp.txt";
    page.say(&format!("!tool file_read {}", serde_json::json!({"path": path})));
    page.until("it asks", "shown(one('.approval-actions'))");
    page.say("!say And this waits");
    page.until("it waits", "/Queued/.test(all('.turn').at(-1).innerText)");
    look.shoot(page, folder, "09-approval-and-queue");
    let decide = "(all('.approval-actions button').find((b) => b.innerText === 'Deny')?.click(), !one('.approval-actions'))";
    page.until("the press counts", decide);
    page.settled();
    look.shoot(page, folder, "10-denied");
}

fn files(page: &Page, look: Viewport, folder: &Path) {
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = page.browser.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let files = [
        write("holiday.png", &png(320, 200)),
        write("shopping list.txt", b"eggs\nflour\n"),
        write("setup.exe", b"MZ\0"),
    ];
    page.browser.give_files("[type=file]", &files);
    page.until(
        "they are attached",
        "all('.composer-file').length === 2 && one('.composer-error').innerText !== ''",
    );
    page.fill("#message", "Viewport at these.\nAnd at this second line.");
    look.shoot(page, folder, "11-attachments");
    page.ask("!say A fine picture.");
    look.shoot(page, folder, "12-attached");
}

fn lists_and_dialogs(page: &Page, look: Viewport, folder: &Path) {
    for name in
        ["Plans for the garden in spring", "Taxes", "A very long title of a conversation that does not fit"]
    {
        page.server().chat(&name.replace(' ', "-")).say("m1", name);
    }
    page.browser.reload();
    page.until("they are listed", "all('.session-title').length === 4");
    if look.is_phone {
        page.browser.click("[aria-label='Show conversations']");
        page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
        look.shoot(page, folder, "13-drawer");
    }
    page.browser.run("const row = one('.session:nth-child(2)'); row.querySelector('a').focus(); row.querySelector('button').click();", &[]);
    page.until("the menu is open", "one('[role=menu]')");
    look.shoot(page, folder, "13-menu");
    page.browser.click("//button[@role='menuitem'][normalize-space()='Delete']");
    page.until("it asks", "one('dialog[open]')");
    look.shoot(page, folder, "14-delete");
    page.browser.click_words("Cancel");
    page.browser.run("one('[aria-label=\"Keyboard shortcuts\"]').click()", &[]);
    page.until("the help is open", "one('dialog[open] dl')");
    look.shoot(page, folder, "15-help");
    page.browser.click_words("Close");
    page.until("it is closed", "!one('dialog')");
    page.browser.chord(&[aethon_tests::browser::keys::ESCAPE]);
}

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_sign_in_dashboard_and_missing_model() {
    let folder = folder();
    for look in LOOKS {
        let Some(page) = Page::beside(Server::start(&["dashboard.auth_token=token", ASKING[0], ASKING[1]]))
        else {
            return;
        };
        look.put_on(&page);
        page.go("/");
        page.until("it asks", "shown(one('#token'))");
        look.shoot(&page, &folder, "20-token");
        page.fill("#token", "wrong");
        page.browser.click_words("Sign in");
        page.until("it complains", "one('#token-error').innerText !== ''");
        look.shoot(&page, &folder, "21-token-wrong");
        page.go("/dashboard");
        page.until("it asks", "shown(one('#token'))");
        look.shoot(&page, &folder, "22-sign-in");
        page.fill("#token", "token");
        page.browser.click_words("Sign in");
        page.until(
            "the dashboard is there",
            "/Running/.test(one('.cards')?.innerText) && /Live/.test(one('.panel-top').innerText)",
        );
        look.shoot(&page, &folder, "23-dashboard");
        page.go("/");
        page.until("the chat is there", "shown(one('#message')) && shown(one('.welcome'))");
        page.say("!tool file_read {\"path\": \"notes.txt\"}");
        page.until("it asks", "shown(one('.approval-actions'))");
        page.go("/dashboard#/approvals");
        page.until("it is listed", "shown(one('.approval'))");
        look.shoot(&page, &folder, "24-dashboard-approvals");
        page.go("/dashboard#/logs");
        page.until(
            "the log is there",
            "one('h1').innerText === 'Logs' && shown(one('.panel-logs .data-table'))",
        );
        look.shoot(&page, &folder, "25-dashboard-logs");
        let Some(page) = Page::open(&["model.provider=openai"]) else { return };
        look.put_on(&page);
        page.until("it says so", "shown(one('.welcome .note'))");
        look.shoot(&page, &folder, "26-no-model");
        page.ask("Hello?");
        look.shoot(&page, &folder, "27-no-model-asked");
    }
}

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_every_used_panel() {
    let folder = folder();
    let words = [
        "Plans for the garden",
        "Rent is due on the 5th.\nPay it.",
        "Ein sehr langes Donaudampfschifffahrtswort",
    ];
    let Some(used_server) = UsedServer::open(&words.map(str::to_owned)) else { return };
    for look in LOOKS {
        look.put_on(&used_server.page);
        for (number, view) in used_server.views.iter().enumerate() {
            used_server.visit(view);
            let name: String =
                view.address.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).take(30).collect();
            look.shoot(&used_server.page, &folder, &format!("{}-{name}", 40 + number));
        }
    }
}

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_previews() {
    let folder = folder();
    for look in LOOKS {
        let Some(page) = Page::open(&[]) else { return };
        look.put_on(&page);
        page.browser.reload();
        page.until("the page is there", "shown(one('.welcome'))");
        page.ask(&say_lines(&[
            "Here is a timer:",
            "",
            "```html",
            "<!doctype html><title>Timer</title>",
            "<style>body { font: 20px system-ui; display: grid; place-items: center; height: 90vh; margin: 0 }",
            "@media (prefers-color-scheme: dark) { body { background: #1d2430; color: #dde } }</style>",
            "<main><h1>25:00</h1><button>Start</button></main>",
            "<script src=\"https://cdn.example/library.js\"></script>",
            "```",
            "",
            "Press **Start**.",
        ]));
        page.until("it is offered", "shown(one('.artefact-button'))");
        look.shoot(&page, &folder, "17-preview-offered");
        page.browser.run("one('.artefact-button').click()", &[]);
        page.until("it is shown", "one('.artefact-note')?.innerText");
        look.shoot(&page, &folder, "18-preview");
        page.browser.run("one('[aria-label=\"Full screen\"]').click()", &[]);
        page.until("it is large", "one('.code:popover-open')");
        look.shoot(&page, &folder, "19-preview-full-screen");
    }
}
