//! The pictures of the tutorial (`docs/handbook/first-hour.md`), which the program embeds: small, light, and each made by the
//! step that it stands in. `cargo xtask shots --docs` writes them where they belong.

use std::path::{Path, PathBuf};

use aethon_tests::Server;
use aethon_tests::server::{home, program};
use serde_json::json;

use crate::page::Page;
use crate::screenshots::{folder, shoot};

/// The window: as much as a step is about, so that the pictures stay small.
const SIZE: (u32, u32) = (760, 520);

/// The window of a phone.
const PHONE: (u32, u32) = (360, 600);

/// The most bytes of a picture. The program carries them all.
const MAX_BYTES: u64 = 60_000;

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_documentation_first_hour() {
    let folder = folder().join("handbook/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    if !start(&folder) {
        return;
    }
    let Some(page) = Page::open(&["approval.enabled=true", "model.max_retries=0"]) else { return };
    look(&page, SIZE);
    page.ask("Good morning. What can you do?");
    top(&page);
    shoot_small(&page, folder.join("first-answer.png"));
    // A conversation of its own, in which the question stands below its message.
    page.go("/#/files");
    page.until("it is connected", "shown(one('#message')) && !one('.skeleton')");
    page.say(&format!("!tool shell {}", json!({"command": "ls"})));
    page.until("it asks", "shown(one('.approval:not(.approval-settled) .approval-actions'))");
    shoot_small(&page, folder.join("approval.png"));
    panels(&page, &folder);
    page.go("/#/default");
    look(&page, PHONE);
    page.until("the answer is there", "!one('.skeleton') && all('.turn').length > 0");
    top(&page);
    shoot_small(&page, folder.join("phone.png"));
}

/// The page of a new server, with the offline model. Returns whether there is a browser.
fn start(folder: &Path) -> bool {
    let home = home();
    let mut command = program("aethon-server", home.path());
    command.args(["--demo", "--set", "channels.webchat.port=0"]);
    let Some(page) = Page::beside(Server::start_command(home, command)) else { return false };
    page.go("/");
    look(&page, SIZE);
    page.until("it is there", "shown(one('.welcome'))");
    shoot_small(&page, folder.join("start.png"));
    true
}

fn panels(page: &Page, folder: &Path) {
    let server = page.server();
    for (text, category) in [("I pay the rent on the 5th.", "money"), ("The cat is called Momo.", "family")] {
        assert!(server.post("/api/memory", &json!({"content": text, "category": category})).status < 300);
    }
    let prompt = "Say good morning, and what I asked you to remember.";
    let job = json!({"job_id": "morning", "cron": "0 8 * * 1-5", "prompt": prompt});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    for (panel, rows, file) in [("memory", 2, "memory.png"), ("scheduler", 1, "job.png")] {
        page.go(&format!("/dashboard?picture={panel}#/{panel}"));
        page.until("it is live", "/Live/.test(one('.panel-top')?.innerText)");
        page.until(
            "it is listed",
            &format!("all('.data-table tr[data-key]').length === {rows} && !one('.skeleton')"),
        );
        shoot_small(page, folder.join(file));
    }
}

fn look(page: &Page, (width, height): (u32, u32)) {
    page.browser.resize(width, height);
    page.browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    page.browser.reload();
}

fn top(page: &Page) {
    page.browser.run("one('.transcript').scrollTop = 0; document.activeElement?.blur()", &[]);
}

fn shoot_small(page: &Page, file: PathBuf) {
    shoot(page, &file);
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size <= MAX_BYTES, "{} has {size} bytes; show less", file.display());
}
