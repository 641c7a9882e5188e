//! What a screen reader says and in which order, from the browser's accessibility tree: the chat, its list, menus and dialogs.

use aethon_tests::browser::keys::ESCAPE;
use serde_json::{Value, json};

use crate::page::Page;

/// What a person can stop at. Texts and boxes are left out, and so is what has no name but its role.
const ROLES: [&str; 18] = [
    "link",
    "button",
    "searchbox",
    "textbox",
    "combobox",
    "option",
    "heading",
    "navigation",
    "complementary",
    "main",
    "region",
    "article",
    "menu",
    "menuitem",
    "menuitemradio",
    "dialog",
    "listbox",
    "listitem",
];

/// The subtree of an element, a line for each node: role, name, and state where it has one.
fn spoken(page: &Page, selector: &str) -> Vec<String> {
    let root = page.browser.devtools("DOM.getDocument", &json!({}))["root"]["nodeId"].clone();
    let node = page.browser.devtools("DOM.querySelector", &json!({"nodeId": root, "selector": selector}));
    let tree = page.browser.devtools("Accessibility.queryAXTree", &json!({"nodeId": node["nodeId"]}));
    let nodes = tree["nodes"].as_array().expect("a list of nodes").iter();
    nodes.filter(|node| node["ignored"] == false).filter_map(line).collect()
}

fn line(node: &Value) -> Option<String> {
    let role = node["role"]["value"].as_str()?;
    let name = node["name"]["value"].as_str().unwrap_or_default();
    let is_named_group = role == "group" && !name.is_empty();
    if !ROLES.contains(&role) && !is_named_group {
        return None;
    }
    let state = node["properties"].as_array()?.iter().find_map(|property| {
        let (name, value) = (property["name"].as_str()?, &property["value"]["value"]);
        match name {
            "expanded" | "pressed" | "selected" | "checked" | "disabled"
                if value == true || value == "true" =>
            {
                Some(format!(", {name}"))
            }
            "level" if role == "heading" => Some(format!(", {value}")),
            _ => None,
        }
    });
    Some(format!("{role} {name}{}", state.unwrap_or_default()).trim_end().to_owned())
}

fn assert_spoken(page: &Page, selector: &str, expected: &str) {
    let seen = spoken(page, selector).join("\n");
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(seen, expected.join("\n"), "{selector}:\n{seen}");
}

/// The sidebar above and below its conversations.
const LIST_HEAD: &str = "complementary Conversations
    button New chat
    button Temporary chat
    searchbox Search conversations
    navigation Conversations";
const LIST_FOOT: &str = "group Colours
    button Follow the system, pressed
    button Light
    button Dark
    link Dashboard
    button Tell me when something happens elsewhere
    button Bin
    button Language
    button Keyboard shortcuts";
/// The composer, up to its last buttons.
const COMPOSER: &str = "textbox Message
    button Attach files
    button Model: fake. Choose another
    combobox Thinking
    option default, selected
    option none
    option low
    option medium
    option high";

#[test]
fn chat_and_its_list_are_spoken_in_order() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let Some(page) = Page::open(&settings) else { return };
    page.until("the suggestions are there", "shown(one('.suggestions button'))");
    let empty = format!(
        "link Skip to the message box
        {LIST_HEAD}
        {LIST_FOOT}
        main
        heading New conversation, 1
        button Options of this conversation
        region Conversation
        heading Good morning, 2
        button Try a tool What time is it, and how long until midnight?
        button Look into the workspace Which files are in my workspace, and what are they for?
        button Think something through Help me plan the week. Ask me what you need to know first.
        {COMPOSER}
        button Send, disabled"
    );
    page.browser.run("one('.welcome h2').textContent = 'Good morning'", &[]);
    assert_spoken(&page, "body", &empty);
    page.ask("!say # Title\n!say Hello.");
    page.say("!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it asks", "shown(one('.approval-actions'))");
    page.until("the list says it", "/Waits for you/.test(one('.session')?.innerText)");
    let talk = format!(
        "link Skip to the message box
        {LIST_HEAD}
        heading Today, 2
        listitem
        link !say # Title Waits for you
        button Options for !say # Title
        {LIST_FOOT}
        main
        heading !say # Title, 1
        button Options of this conversation
        region Conversation
        article
        heading You, 2
        button Copy message
        button Edit your message
        heading Aethon, 2
        heading Title, 3
        button Copy reply
        button More for this answer
        button Answer again
        button Edit your message
        article
        heading You, 2
        button Copy message
        heading Aethon, 2
        group Allow file_read?
        heading Allow file_read to read this file?, 3
        group path
        button Allow once
        button Deny
        {COMPOSER}
        button Stop
        button Send; it waits for its turn, disabled"
    );
    assert_spoken(&page, "body", &talk);
    page.assert_clean();
}

#[test]
fn menus_and_dialogs_of_the_chat_are_spoken_in_order() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say one");
    page.until("it is listed", "one('.session')");
    let menu = |press: &str, expected: &str| {
        browser.run(&format!("one('{press}').click()"), &[]);
        page.until("the menu is open", "shown(one('[role=menu]'))");
        assert_spoken(&page, "[role=menu]", expected);
        browser.chord(&[ESCAPE]);
        page.until("it is closed", "!one('[role=menu]')");
    };
    menu(
        ".session button",
        "menu Options for !say one
        menuitem Pin
        menuitem Rename
        menuitem Move to a folder
        menuitem Archive
        menuitem Save as Markdown
        menuitem Save as JSON
        menuitem Select several
        menuitem Delete",
    );
    menu(
        "[aria-label=\"Options of this conversation\"]",
        "menu Options of this conversation
        menuitem Find in this conversation
        menuitem Go to the beginning
        menuitem Go to a date
        menuitem Instructions …
        menuitem Save with all versions",
    );
    menu(
        "[aria-label=\"More for this answer\"]",
        "menu More for this answer
        menuitem Copy as Markdown
        menuitem Copy with formatting
        menuitem Go on from here in a new conversation",
    );
    menu(
        "[aria-label=\"Language\"]",
        "menu Language
        menuitemradio As in the browser, checked
        menuitemradio English
        menuitemradio Deutsch",
    );
    page.assert_clean();
}

/// Opens an entry of the conversation's menu, asserts what its dialog says, and closes it.
fn assert_dialog_of(page: &Page, entry: &str, expected: &str) {
    page.browser.run("one('.session button').click()", &[]);
    page.browser.click(&format!("//button[@role='menuitem'][normalize-space()='{entry}']"));
    assert_dialog(page, expected);
}

/// Asserts what the dialog says that opens now, and closes it.
fn assert_dialog(page: &Page, expected: &str) {
    page.until("the dialog is open", "one('dialog[open]')");
    assert_spoken(page, "dialog[open]", expected);
    page.browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
}

#[test]
fn dialogs_and_lists_of_the_chat_are_spoken_in_order() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say one");
    page.until("it is listed", "one('.session')");
    let asks = |title: &str, label: &str| {
        format!("dialog {title}\nheading {title}, 2\ntextbox {label}\nbutton Cancel\nbutton Save")
    };
    assert_dialog_of(&page, "Rename", &asks("Rename conversation", "Title"));
    assert_dialog_of(&page, "Move to a folder", &asks("Move to a folder", "Folder"));
    assert_dialog_of(
        &page,
        "Delete",
        "dialog Delete this conversation?
        heading Delete this conversation?, 2
        button Cancel
        button Delete for good
        button Delete",
    );
    browser.click("[aria-label='Keyboard shortcuts']");
    assert_dialog(
        &page,
        "dialog Keyboard shortcuts
        heading Keyboard shortcuts, 2
        link The handbook: a first hour, models, messengers, and what to do when something fails
        button Close",
    );
    browser.click(".composer-model");
    page.until("the models are there", "all('.models [role=option]').length === 2");
    assert_spoken(
        &page,
        ".models",
        "dialog Model for this conversation
        combobox Search models, expanded
        listbox Models
        option Default what the configuration names: fake, selected
        option fake fake · 200k tokens · $0 in, $0 out per million tokens · tools, pictures",
    );
    browser.chord(&[ESCAPE]);
    page.fill("#message", "");
    browser.type_keys("/ne");
    page.until("the commands are there", "shown(one('.slash-menu'))");
    assert_spoken(
        &page,
        ".slash-menu",
        "listbox Commands, prompts and SOPs
        option /new Begin a new conversation",
    );
    page.assert_clean();
}
