//! Views that were looked at closely: logs on a phone, the editor of SOPs, the configuration, features, agents and the API.

use serde_json::json;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

const FITS: &str = "document.documentElement.scrollWidth <= innerWidth";

#[test]
fn log_line_is_one_line_on_a_phone_and_opens_to_its_fields() {
    let Some(page) = Page::open(&["logging.level=debug"]) else { return };
    let browser = &page.browser;
    for number in 0..30 {
        page.server().get(&format!("/api/nothing-{number}"));
    }
    browser.become_phone(390, 844);
    page.go("/dashboard#/logs?level=debug");
    // A long table draws only the rows in sight.
    page.until(
        "the lines are there",
        "Number.parseInt(one('.bar-count').innerText) > 30 && all('.panel-logs tr[data-key]').length > 9",
    );
    let rows = "all('.panel-logs tr[data-key]')";
    assert!(
        browser.is(&format!("{rows}.slice(0, 20).every((row) => row.getBoundingClientRect().height <= 46)")),
        "one line each"
    );
    assert!(
        browser.is(&format!(
            "{rows}.slice(0, 20).every((row) => {{ const time = row.querySelector('time'), cell = time.closest('td'); return cell.scrollWidth <= cell.clientWidth + 1 && /^\\d\\d:\\d\\d:\\d\\d$/.test(time.innerText); }})"
        )),
        "the time is whole"
    );
    browser.run("scrollTo(0, 900)", &[]);
    page.until("the filter is still there", "(({top, bottom}) => top >= 0 && bottom < innerHeight / 2)(one('.panel-logs .search input').getBoundingClientRect())");
    assert!(browser.is(FITS));
    browser.run(
        "all('.panel-logs tr[data-key]').find((row) => row.getBoundingClientRect().top > 300).click()",
        &[],
    );
    page.until("a line opens to its fields", "/Fields/.test(one('.drawer')?.innerText)");
    assert_no_barriers_in_both(browser, "a line of the log on a phone");
    page.assert_clean();
}

const SOP: &str = "# Tea time\n\n## Overview\n\nMakes **tea**, which a person who has a very long sentence to read may want beside it while the lines of the text go on and on.\n\n## Steps\n\n### 1. Boil\n\nYou MUST boil `water`.\n";

#[test]
fn sop_is_edited_on_numbered_lines_with_preview_outline_and_versions_beside() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let put = |text: &str| {
        let body = json!({"content": text}).to_string();
        let request =
            aethon_tests::Request::new("PUT", "/api/sops/tea").header("Content-Type", "application/json");
        assert_eq!(page.server().send(&request.body(body)).status, 200);
    };
    put(SOP);
    put(&SOP.replace("water", "milk"));
    page.go("/dashboard#/sops/tea/edit");
    page.until("the preview is there", "one('.sop-preview strong')?.innerText === 'tea'");
    let lines = "all('.sop-paint > div').length === one('.sop-source').value.split('\\n').length";
    assert!(browser.is(lines), "every line has its number");
    let lies = "(one('.sop-source').scrollHeight <= one('.sop-source').clientHeight + 1 && Math.abs(one('.sop-paint').getBoundingClientRect().height - one('.sop-source').getBoundingClientRect().height) < 1)";
    assert!(browser.is(lies), "letter lies on letter");
    assert!(browser.is(
        "one('.paint-word').textContent === 'MUST' && one('.paint-heading').textContent === '# Tea time'"
    ));
    assert_no_barriers_in_both(browser, "the editor of an SOP");
    browser.click("//button[@role='tab'][normalize-space()='Outline']");
    browser.click("//nav//button[contains(., '1. Boil')]");
    page.until(
        "the heading is selected in the text",
        "((box) => box.value.slice(box.selectionStart, box.selectionEnd) === '### 1. Boil')(one('.sop-source'))",
    );
    page.fill(".sop-source", "# Tea time\n\nNothing else.\n");
    page.until(
        "the fault stands at its line",
        "one('.sop-paint [data-look=fault]')?.dataset.says.length > 5",
    );
    page.until("and in the list", "/Line \\d+:/.test(one('.sop-lint').innerText)");
    assert!(browser.is(lines) && browser.is(lies));
    browser.click("//button[@role='tab'][normalize-space()='Earlier versions']");
    page.until("the version is listed", "one('.sop-versions li')");
    browser.click("//button[normalize-space()='Take']");
    page.until("it stands in the editor", "/boil `water`/.test(one('.sop-source').value)");
    browser.click("//*[contains(@class, 'toasts')]//button[normalize-space()='Undo']");
    page.until("what was typed is back", "/Nothing else/.test(one('.sop-source').value)");
    browser.become_phone(390, 844);
    page.go("/dashboard?phone#/sops/tea/edit");
    page.until("what was typed is there again, as a draft", "/Nothing else/.test(one('.sop-source')?.value)");
    browser.click_words("Discard it");
    page.until("the editor is there on a phone", "one('.sop-preview strong')");
    assert!(browser.is(FITS) && browser.is(lies));
    assert_no_barriers_in_both(browser, "the editor of an SOP on a phone");
    page.assert_clean();
}

#[test]
fn common_settings_come_first_and_the_rest_stands_in_groups() {
    let Some(page) = Page::open(&["budget.daily_usd=5"]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/config");
    page.until("they are there", "all('.config-card').length > 10");
    let heads = browser.text("all('.panel-config h2').map((head) => head.innerText).join('|')");
    assert!(heads.starts_with("Common settings|Models and spending|"), "{heads}");
    let card =
        browser.text("all('.config-card').find((card) => /Spending a day/.test(card.innerText)).innerText");
    assert!(card.contains('5') && card.contains("Set"), "{card}");
    let sections = browser.text("all('.config-section').map((section) => section.innerText).join(' ')");
    let mut names: Vec<&str> = sections.split(' ').collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "every section stands in one group");
    assert_no_barriers_in_both(browser, "the configuration");
    browser.click("//a[contains(@class, 'config-card')][contains(., 'Spending a day')]");
    page.until("its key opens", "/budget\\.daily_usd/.test(one('.drawer')?.innerText) && /A change counts/.test(one('.drawer').innerText)");
    page.go("/dashboard?found#/config?q=daily_usd");
    page.until("what is found stands alone", "!one('.config-card') && all('.config-key').length === 1");
    browser.become_phone(390, 844);
    page.go("/dashboard?phone#/config");
    page.until("they are there on a phone", "all('.config-card').length > 10");
    assert!(browser.is(FITS));
    page.assert_clean();
}

#[test]
fn feature_that_is_off_leads_to_where_it_is_turned_on() {
    let Some(page) = Page::open(&["webhook.enabled=false"]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/features");
    page.until("the features are there", "one('.feature-way a.button')");
    browser.click("#feature-channel\\.telegram a.button");
    page.until(
        "a messenger is set up",
        "location.hash === '#/channels/telegram' && /BotFather/.test(one('.drawer')?.innerText)",
    );
    page.go("/dashboard?again#/features");
    page.until("the features are there", "one('.feature-way a.button')");
    browser.run("all('.feature-way a.button').find((link) => /webhook/.test(link.hash)).click()", &[]);
    page.until("its key is open", "/webhook\\.enabled/.test(one('.drawer')?.innerText)");
    page.assert_clean();
}

#[test]
fn api_is_listed_by_groups_with_commands_for_a_terminal() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/docs");
    page.until("the groups are listed", "all('.docs-side button').length > 5");
    browser.run("all('.docs-side button').find((one) => /^Channels/.test(one.innerText)).click()", &[]);
    page.until("the group is in view", "one('#group-channels').getBoundingClientRect().top < innerHeight / 2 && document.activeElement.innerText === 'Channels'");
    browser.run("const fold = all('#group-channels details').find((fold) => /\\/api\\/pairings\\b/.test(fold.innerText) && /POST/.test(fold.innerText)); fold.open = true", &[]);
    page.until("the command is there", "one('.docs-curl pre')");
    let command = browser.text("one('.docs-curl pre').innerText");
    assert!(command.starts_with("curl -X POST 'http://127.0.0.1:"), "{command}");
    assert!(command.contains("Bearer $AETHON_TOKEN") && command.contains("-d '{"), "{command}");
    page.fill("#group-channels textarea", "{\"channel\": \"it's\"}");
    page.until("it follows what is typed", "one('.docs-curl pre').innerText.includes(`it'\\\\''s`)");
    assert_no_barriers_in_both(browser, "the documentation of the API");
    browser.become_phone(390, 844);
    page.go("/docs?phone");
    page.until("the groups are listed", "all('.docs-side button').length > 5");
    assert!(browser.is(FITS));
    page.assert_clean();
}

#[test]
fn prompt_keeps_what_was_typed() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/channels");
    page.until("it is there", "all('main button').some((one) => one.innerText === 'Enter a code')");
    browser.click_words("Enter a code");
    page.fill("#prompt-input", "AAAAAAAA");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until(
        "a wrong code is told where it was typed",
        "/unknown code/i.test(one('dialog').innerText) && one('#prompt-input').value === 'AAAAAAAA'",
    );
    browser.chord(&[aethon_tests::browser::keys::ESCAPE]);
    page.until(
        "it is not thrown away unasked",
        "/Leave without saving/.test(all('dialog').at(-1).innerText)",
    );
    browser.click("(//dialog)[last()]//button[normalize-space()='Cancel']");
    page.until("it is kept", "one('#prompt-input')?.value === 'AAAAAAAA'");
    browser.reload();
    page.until("it is there", "all('main button').some((one) => one.innerText === 'Enter a code')");
    browser.click_words("Enter a code");
    page.until("a reload keeps it too", "one('#prompt-input')?.value === 'AAAAAAAA'");
    page.assert_clean();
}
