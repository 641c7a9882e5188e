//! The pictures of the README: the chat and the dashboard of a server that is used. `cargo xtask shots DIR` writes them as
//! `readme-chat.png` and `readme-dashboard.png`; `docs/pictures` has both, taken
//! in the same way.

use crate::page::Page;
use crate::screenshots::{folder, shoot};
use crate::used_server::UsedServer;

/// Their size: beside each other in a README, and small in bytes.
const SIZE: (u32, u32) = (1120, 720);

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_the_readme() {
    let folder = folder();
    let titles = ["Plans for the garden", "Which train to Hamburg?", "Taxes 2026", "Soup for ten people"];
    let Some(mut page) = Page::open(&["model.max_retries=0"]) else { return };
    for title in titles {
        page.server().chat(&title.to_lowercase().replace([' ', '?'], "-")).say("m1", title);
    }
    page.browser.resize(SIZE.0, SIZE.1);
    page.browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    page.browser.reload();
    page.until("they are listed", &format!("all('.session-title').length >= {}", titles.len()));
    page.ask("Good morning. What can you do for me today?");
    page.browser.run("one('.transcript').scrollTop = 0; document.activeElement?.blur()", &[]);
    shoot(&page, &folder.join("readme-chat.png"));
    page.kill_server();

    let Some(used) = UsedServer::open(&titles.map(str::to_owned)) else { return };
    used.page.browser.resize(SIZE.0, SIZE.1);
    used.page.browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    used.visit(&used.views[0]);
    shoot(&used.page, &folder.join("readme-dashboard.png"));
}
