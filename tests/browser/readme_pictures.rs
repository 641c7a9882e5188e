//! The pictures of the README: the chat and the dashboard of a server with a few conversations. `cargo xtask shots --docs` writes them to
//! `docs/pictures`.

use crate::page::Page;
use crate::screenshots::{folder, shoot};

/// Their size: beside each other in a README, and small in bytes.
const SIZE: (u32, u32) = (1120, 720);

/// With prices, so that there is a cost to show.
const SETTINGS: [&str; 3] =
    ["model.max_retries=0", "budget.daily_usd=5", "budget.pricing.fake={input=3.0, output=15.0}"];

#[test]
#[ignore = "writes screenshots: cargo xtask shots"]
fn screenshots_of_documentation_readme() {
    let folder = folder().join("pictures");
    std::fs::create_dir_all(&folder).unwrap();
    let titles = ["Plans for the garden", "Which train to Hamburg?", "Taxes 2026", "Soup for ten people"];
    let Some(page) = Page::open(&SETTINGS) else { return };
    for title in titles {
        page.server().chat(&title.to_lowercase().replace([' ', '?'], "-")).say("m1", title);
    }
    page.browser.resize(SIZE.0, SIZE.1);
    page.browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    page.browser.reload();
    page.until("they are listed", &format!("all('.session-title').length >= {}", titles.len()));
    page.ask("Good morning. What can you do for me today?");
    page.browser.run("one('.transcript').scrollTop = 0; document.activeElement?.blur()", &[]);
    shoot(&page, &folder.join("chat.png"));
    page.go("/dashboard");
    page.until("it is live", "/Live/.test(one('.panel-top')?.innerText)");
    page.until("it is loaded", "!one('.skeleton') && /Turns/.test(one('main').innerText)");
    shoot(&page, &folder.join("dashboard.png"));
}
