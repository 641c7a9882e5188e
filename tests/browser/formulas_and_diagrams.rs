//! Formulas and diagrams of replies: drawn from their source, loaded only then, and able to do no harm.

use serde_json::json;

use crate::page::Page;
use crate::reading::say_lines;

/// Whether the page has asked for a file below this folder.
fn has_loaded(page: &Page, folder: &str) -> bool {
    page.browser.asked().iter().any(|address| address.contains(folder))
}

#[test]
fn formulas_are_drawn_with_their_mathml_and_prices_are_not() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask(&say_lines("It costs $5 and $6."));
    assert!(!has_loaded(&page, "vendor/katex"), "nothing is loaded for a reply without formulas");
    page.ask(&say_lines(
        "Euler: $e^{i\\pi} + 1 = 0$ costs $5 and $6.\n\n$$\n\\int_0^1 x^2\\,dx = \\frac{1}{3}\n$$\n\n\\[ \\sum_{k=1}^n k \\]\n\n\
         | \\(a_1\\) |\n|---|\n| 1 |\n\n$\\undefinedcommand{x}$ and $\\href{javascript:alert(1)}{x}$",
    ));
    for _ in 0..2 {
        page.until("the formulas are drawn", "all('.formula .katex').length >= 4");
        assert_eq!(browser.text("all('.formula-display').length"), "2");
        assert!(
            browser.is("one('.formula math annotation').textContent.includes('i\\\\pi')"),
            "MathML is there"
        );
        assert!(browser.is("one('.prose').closest('.turns').innerText.includes('costs $5 and $6.')"));
        // What cannot be read stays as it was written.
        assert_eq!(browser.text("one('code[data-unread]').textContent"), "\\undefinedcommand{x}");
        assert!(browser.is("!one('.prose a[href^=javascript]')"));
        browser.until("its fonts are there", "document.fonts.status === 'loaded' && [...document.fonts].some((f) => f.family.includes('KaTeX_Math') && f.status === 'loaded')");
        browser.reload();
    }
    page.assert_clean();
}

#[test]
fn formulas_do_not_flicker_while_a_reply_grows() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask(&say_lines("$x^2$"));
    page.until("the library is there", "one('.formula .katex')");
    // Each time that the page changes, a formula whose end has arrived is drawn.
    page.browser.run(
        "window.bare = 0; new MutationObserver(() => { bare += all('.turn:last-child code.math').length; })
            .observe(one('.turns'), {childList: true, subtree: true});",
        &[],
    );
    let words = "word ".repeat(200);
    page.ask(&say_lines(&format!("Here $y = x^3$ {words} and $z$ {words}")));
    page.until("both are drawn", "all('.turn:last-child .formula .katex').length === 2");
    assert_eq!(page.browser.text("bare"), "0", "the source was never shown");
    page.assert_clean();
}

#[test]
fn a_diagram_is_drawn_on_request_and_follows_the_theme() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.prefer(&[("prefers-color-scheme", "light")]);
    page.ask(&say_lines("```mermaid\nflowchart TD\n  A[Start] --> B{Choice}\n  B --> C[End]\n```"));
    page.until(
        "it is code",
        "one('.code pre').innerText.includes('flowchart') && shown(one('.diagram-button'))",
    );
    assert!(!has_loaded(&page, "vendor/mermaid"), "nothing is loaded before it is wanted");
    browser.click_words("Show as diagram");
    page.until("it is drawn", "one('iframe.diagram') && one('.code pre').hidden");
    assert!(browser.is("one('iframe.diagram').offsetHeight > 130"), "it has its height");
    assert_eq!(browser.text("one('iframe.diagram').getAttribute('sandbox')"), "allow-scripts");
    // The frame has no origin: the page cannot look into it, nor it into the page.
    assert!(browser.is("one('iframe.diagram').contentDocument === null"));
    let light = browser.folder().join("light.png");
    browser.shoot(&light);
    browser.prefer(&[("prefers-color-scheme", "dark")]);
    browser.click_words("Show code");
    page.until("the code is back", "shown(one('.code pre')) && !one('iframe.diagram')");
    browser.click_words("Show as diagram");
    page.until("it is drawn again", "one('iframe.diagram') && one('.code pre').hidden");
    page.ask(&say_lines("```mermaid\nnonsense --> is\n  [what\n```"));
    browser.run("all('.diagram-button').at(-1).click()", &[]);
    page.until("the fault is said", "shown(one('.diagram-fault'))");
    assert!(browser.is("shown(all('.code pre').at(-1))"), "the code stays");
    page.assert_clean();
}

#[test]
fn hostile_diagrams_reach_nothing() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for hostile in [
        "flowchart TD\n  A[\"<img src=x onerror=parent.postMessage({height:9999},'*')>\"] --> B[\"<script>parent.document.title='owned'</script>\"]",
        "flowchart TD\n  A --> B\n  click A \"javascript:parent.document.title='owned'\"\n  click B \"https://evil.example/\" _blank",
        "%%{init: {\"securityLevel\": \"loose\", \"theme\": \"base\", \"themeCSS\": \"* { background: url(https://evil.example/leak) }\"}}%%\nflowchart TD\n  A[\"<iframe src=https://evil.example></iframe>\"] --> B",
    ] {
        page.ask(&say_lines(&format!("```mermaid\n{hostile}\n```")));
        browser.run("all('.diagram-button').at(-1).click()", &[]);
        page.until(
            "it ends",
            "all('.code').at(-1).querySelector('.diagram-fault') || all('.code pre').at(-1).hidden",
        );
        assert!(!browser.is("document.title === 'owned'"));
    }
    assert!(browser.is("all('iframe.diagram').every((frame) => frame.offsetHeight <= 1600)"));
    let foreign: Vec<String> =
        browser.asked().into_iter().filter(|address| address.contains("evil.example")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert_eq!(browser.alert(), None);
    // The files of the frame are sealed wherever they are opened.
    let frame = browser.text("one('iframe.diagram').src");
    let path = frame.split_once("/dashboard/").map(|(_, rest)| format!("/dashboard/{rest}")).unwrap();
    let answer = page.server().get(&path);
    assert!(answer.header("content-security-policy").unwrap().contains("sandbox allow-scripts"), "{path}");
    let chat = page.server().get("/");
    assert!(chat.header("content-security-policy").unwrap().contains("frame-src 'self'"));
    assert!(
        !chat.header("content-security-policy").unwrap().contains("unsafe"),
        "the page itself allows nothing more"
    );
}

#[test]
fn the_first_view_of_the_chat_is_small() {
    let Some(page) = Page::open(&[]) else { return };
    page.browser.devtools("Network.setCacheDisabled", &json!({"cacheDisabled": true}));
    page.browser.reload();
    page.until("the page is there", "shown(one('#message')) && !one('.skeleton')");
    let sum = page.browser.run(
        "await document.fonts.ready;
        const sent = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
        return sent.reduce((sum, entry) => sum + entry.transferSize, 0)",
        &[],
    );
    let sum = sum.as_f64().unwrap();
    assert!((50_000.0..200_000.0).contains(&sum), "{sum} bytes");
}
