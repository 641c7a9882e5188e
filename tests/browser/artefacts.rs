//! Pages and pictures of answers: shown when it is asked for, in a frame that reaches nothing.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use aethon_tests::browser::keys::{DOWN, ENTER, ESCAPE, TAB};
use aethon_tests::stub::{Stub, ok};
use serde_json::{Value, json};

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;
use crate::reading::say_lines;
use crate::slow_model::SlowModel;

/// A page that tells the window around it when it starts, and how often it was pressed.
const PAGE: &str = "```html\n<!doctype html>\n<html><head><title>Two words: a page</title>\n<style>body { background: #fee }</style></head>\n\
    <body><h1 id=top>Calm</h1><a href=#end>down</a><p style=\"height:3000px\">long</p><p id=end>end</p>\n\
    <script>\nconst tell = (said) => top.postMessage({ said }, '*');\naddEventListener('hashchange', () => tell(`at ${scrollY > 1000}`));\n\
    addEventListener('keydown', (event) => tell(event.key));\nlocalStorage.seen = 1 + Number(localStorage.getItem('seen'));\ntell(`started ${localStorage.seen}`);\n</script></body></html>\n```";

const LISTEN: &str =
    "window.said = []; addEventListener('message', ({data}) => data?.said && said.push(data.said))";

/// Whether the files of the preview were asked for.
fn has_loaded(page: &Page) -> bool {
    page.browser
        .asked()
        .iter()
        .any(|address| address.contains("artefact/") || address.contains("frame/artefact"))
}

/// Opens the preview of the last block of code.
fn preview(page: &Page) {
    page.browser.click("(//button[contains(@class,'artefact-button')])[last()]");
    page.until("the frame is there", "one('.artefact iframe')");
}

/// Presses where an element is, near its top, as a person does; also in the frame.
fn press(page: &Page, selector: &str) {
    let place = page.browser.run(
        "const {left, top, width, height} = one(arguments[0]).getBoundingClientRect();
        return [left + width / 2, top + Math.min(height / 2, 60)]",
        &[json!(selector)],
    );
    for kind in ["mousePressed", "mouseReleased"] {
        page.browser.devtools(
            "Input.dispatchMouseEvent",
            &json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
        );
    }
}

#[test]
fn page_of_an_answer_is_shown_in_the_place_of_its_code() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.run(LISTEN, &[]);
    page.ask(&say_lines(PAGE));
    page.until("it is offered", "shown(one('.code figcaption .artefact-button'))");
    assert!(!has_loaded(&page), "nothing is loaded before it is wanted");
    assert_eq!(browser.text("said.length"), "0", "nothing ran");
    browser.run("one('.artefact-button').focus()", &[]);
    browser.chord(&[ENTER]);
    page.until("it runs", "said.includes('started 1')");
    assert!(browser.is("one('.code pre').hidden && !shown(one('.artefact-button'))"));
    assert_eq!(browser.text("one('.artefact iframe').getAttribute('sandbox')"), "allow-scripts");
    assert!(browser.is("one('.artefact iframe').contentDocument === null"));
    assert_eq!(page.focused(), "button Preview", "of the switch");

    // The code and back, the full screen and back: it runs on.
    browser.click_words("Code");
    page.until("the code is there", "shown(one('.code pre')) && !shown(one('.artefact'))");
    browser.run("all('.artefact-choice button')[1].click()", &[]);
    page.until("the page is there", "shown(one('.artefact')) && !shown(one('.code pre'))");
    browser.click("[aria-label='Full screen']");
    page.until("it fills the window", "one('.code').matches(':popover-open') && one('.code').offsetWidth === innerWidth && one('.code').offsetHeight === innerHeight");
    assert!(browser.is("one('.artefact').offsetHeight > innerHeight - 80"), "the frame has nearly all of it");
    for _ in 0..8 {
        browser.chord(&[TAB]);
        assert!(
            browser.is("one('.code').contains(document.activeElement)"),
            "the focus stays: {}",
            page.focused()
        );
    }
    browser.run("one('[aria-label=\"Leave full screen\"]').focus()", &[]);
    browser.chord(&[ESCAPE]);
    page.until(
        "it is small again",
        "!one('.code').matches(':popover-open') && one('.code').offsetHeight < innerHeight",
    );

    // Its height, by keyboard.
    let before = browser.text("one('.artefact').offsetHeight");
    browser.run("one('.artefact-edge').focus()", &[]);
    browser.chord(&[DOWN]);
    assert_eq!(browser.text("one('.artefact').offsetHeight - 40"), before);
    assert_eq!(browser.text("one('.artefact-edge').getAttribute('aria-valuenow') - 40"), before);
    assert_eq!(
        browser.text("said.filter((one) => one.startsWith('started')).join()"),
        "started 1",
        "it was never started anew"
    );

    // A press in it, and Escape from in there.
    press(&page, ".artefact iframe");
    browser.type_keys("a");
    page.until("it has the keyboard", "said.includes('a')");
    browser.chord(&[ESCAPE]);
    page.until(
        "it is closed",
        "!one('.artefact') && shown(one('.code pre')) && shown(one('.artefact-button'))",
    );
    assert_eq!(page.focused(), "button Preview");
    assert_no_barriers_in_both(browser, "code with a preview");
    page.assert_clean();
}

#[test]
fn links_within_a_previewed_page_lead_within_it() {
    let Some(page) = Page::open(&[]) else { return };
    page.browser.run(LISTEN, &[]);
    let code = "```html\n<a href=#end style=\"position:fixed;inset:0\">down</a><p style=\"height:3000px\"><p id=end>end\n\
        <script>addEventListener('hashchange', () => setTimeout(() => top.postMessage({said: `at ${scrollY > 1000}`}, '*')))</script>\n```";
    page.ask(&say_lines(code));
    preview(&page);
    page.until("it is drawn", "one('.artefact iframe').offsetHeight > 0");
    for _ in 0..200 {
        press(&page, ".artefact iframe");
        if page.browser.is("said.length > 0") {
            break;
        }
    }
    assert_eq!(page.browser.text("said[0]"), "at true");
    page.assert_clean();
}

#[test]
fn pictures_are_shown_and_saved_and_other_code_is_not() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let picture = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 10 10\"><title>A dot</title><circle cx=\"5\" cy=\"5\" r=\"4\"/></svg>";
    for (fence, is_offered) in [("svg", true), ("xml", true), ("xhtml", true), ("rust", false), ("", false)] {
        page.ask(&say_lines(&format!("```{fence}\n{picture}\n```")));
        page.until("the code is there", "all('.turn').at(-1).querySelector('.code')");
        let offered = "Boolean(all('.turn').at(-1).querySelector('.artefact-button'))";
        assert_eq!(browser.text(offered), is_offered.to_string(), "{fence}");
    }
    page.ask(&say_lines("```xml\n<note>no picture</note>\n```"));
    assert!(!browser.is("all('.turn').at(-1).querySelector('.artefact-button')"));
    let folder = browser.folder().join("saved");
    browser.devtools(
        "Browser.setDownloadBehavior",
        &json!({"behavior": "allow", "downloadPath": folder.display().to_string()}),
    );
    browser.run("one('.artefact-button').click()", &[]);
    page.until("it is shown", "shown(one('.artefact iframe'))");
    browser.click("[aria-label='Save as file']");
    let saved =
        aethon_tests::eventually("it is saved", || std::fs::read_to_string(folder.join("A-dot.svg")).ok());
    assert_eq!(saved.trim(), picture);
    page.assert_clean();
}

/// An answer of a model as one event.
fn answer(text: &str) -> Vec<u8> {
    let said = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    ok("text/event-stream", &format!("data: {said}\n\ndata: [DONE]\n\n"))
}

#[test]
fn preview_is_offered_once_the_code_is_complete() {
    let model = SlowModel::start();
    let settings = model.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(page) = Page::open(&settings) else { return };
    let browser = &page.browser;
    page.say("a page");
    model.say("```html\n<p>words:\n");
    page.until("it grows", "one('.turn[data-live] .code pre')?.innerText.includes('words')");
    assert!(!browser.is("one('.artefact-button')"), "half a page is not shown");
    model.say("more</p>\n```\n\nand then");
    page.until("it is offered", "shown(one('.artefact-button'))");
    assert!(browser.is("one('.turn[data-live]')"), "while the answer goes on");
    model.end();
    page.settled();
    assert!(browser.is("all('.artefact-button').length === 1"));
    page.assert_clean();
}

#[test]
fn open_preview_shows_the_next_version_of_its_code() {
    let pages = ["one", "two"].map(|word| {
        answer(&format!("```html\n<script>top.postMessage({{said: '{word}'}}, '*')</script>\n```"))
    });
    let stub = Stub::start(pages.to_vec());
    let settings = [
        "model.provider=openai".to_owned(),
        "model.model_id=gpt-4o".to_owned(),
        "model.api_key=sk-anything-0123456789".to_owned(),
        format!("model.host=http://{}/v1", stub.address),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(page) = Page::open(&settings) else { return };
    let browser = &page.browser;
    browser.run(LISTEN, &[]);
    page.ask("a page");
    preview(&page);
    page.until("the first is shown", "said.includes('one')");
    browser.run("one('.reply [aria-label=\"Answer again\"]').click()", &[]);
    page.until("the second is there", "one('.code pre')?.textContent.includes('two')");
    page.settled();
    if !browser.is("one('.artefact')") {
        preview(&page);
    }
    page.until("the second is shown", "said.includes('two')");
    assert_eq!(browser.text("all('.artefact iframe').length"), "1");
    page.assert_clean();
}

/// Places on this machine that must not be reached.
struct Canaries {
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Canaries {
    fn new() -> Self {
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        Self { tcp, udp }
    }

    /// The hostile page, with its targets.
    fn page(&self, server: &str) -> String {
        include_str!("hostile_artefact.html")
            .replace("ELSEWHERE", &format!("http://{}", self.tcp.local_addr().unwrap()))
            .replace("SERVER", server)
            .replace("UDP", &self.udp.local_addr().unwrap().to_string())
    }

    /// Pages that tell that they run, and lead themselves away or talk by WebRTC from a frame in which nothing was taken away.
    fn leaving(&self) -> Vec<String> {
        let elsewhere = format!("http://{}", self.tcp.local_addr().unwrap());
        let server = self.udp.local_addr().unwrap();
        let talk = |servers: &str| {
            format!(
                "<iframe srcdoc=\"<script>const talk = new RTCPeerConnection({{iceServers: [{servers}]}}); talk.createDataChannel('x');
                talk.createOffer().then((offer) => talk.setLocalDescription(offer))</script>\"></iframe>"
            )
        };
        let ways = [
            format!("<script>location = '{elsewhere}/own?told'</script>"),
            format!("<meta http-equiv=refresh content='0;url={elsewhere}/refresh'>"),
            format!(
                "<a href={elsewhere}/link id=away>x</a><script>HTMLElement.prototype.click.call(away)</script>"
            ),
            "<script>location = URL.createObjectURL(new Blob(['<img src=x>'], {type: 'text/html'}))</script>"
                .to_owned(),
            talk(&format!("{{urls: 'stun:{server}'}}")),
            talk(&format!(
                "{{urls: 'turn:{}?transport=tcp', username: 'a', credential: 'b'}}",
                self.tcp.local_addr().unwrap()
            )),
        ];
        ways.map(|way| format!("<script>top.postMessage({{hostile: {{done: 'left'}}}}, '*')</script>\n{way}"))
            .to_vec()
    }

    fn assert_silent(&self, when: &str) {
        let connected = self.tcp.accept().map(drop).expect_err(when);
        let sent = self.udp.recv(&mut [0; 32]).map(drop).expect_err(when);
        assert_eq!((connected.kind(), sent.kind()), (ErrorKind::WouldBlock, ErrorKind::WouldBlock));
    }
}

/// The last report of the hostile page that has this mark.
fn report(page: &Page, mark: &str) -> Value {
    page.until("it reports", &format!("hostile.findLast(({{done}}) => done === '{mark}')"))
}

#[test]
fn hostile_page_reaches_neither_the_assistant_nor_the_network() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let canaries = Canaries::new();
    let server = format!("http://{}", page.server().address);
    browser.run(
        "localStorage.setItem('mark', 'of the page'); document.cookie = 'mark=1';
        window.hostile = []; addEventListener('message', ({data}) => data?.hostile && hostile.push(data.hostile))",
        &[],
    );
    page.ask(&say_lines(&format!("```html\n{}\n```", canaries.page(&server))));
    page.until("it is offered", "shown(one('.artefact-button'))");
    assert_eq!(browser.text("hostile.length"), "0", "nothing runs before it is pressed");
    canaries.assert_silent("before");
    preview(&page);
    let seen = report(&page, "all");
    assert_eq!(seen["reached"], json!([]), "{seen:#}");
    assert!(seen["refused"].as_array().unwrap().len() > 25, "it was tried: {seen:#}");
    page.until("the person is told", "one('.artefact-note').innerText.includes('network')");
    assert!(browser.is("all('.artefact iframe').length === 1 && one('.artefact')"), "it gives no orders");

    press(&page, ".artefact iframe");
    let seen = report(&page, "pressed");
    assert_eq!(seen["reached"], json!([]), "{seen:#}");
    let targets = browser.devtools("Target.getTargets", &json!({}));
    let windows = targets["targetInfos"].as_array().unwrap().iter().filter(|target| target["type"] == "page");
    assert_eq!(windows.count(), 1, "no window was opened: {targets:#}");
    assert_eq!(browser.text("location.pathname"), "/");

    // A page can always lead itself elsewhere, and tell something by the address; and there is WebRTC, which no policy covers. In
    // these cases the browser may end the frame.
    for leaving in canaries.leaving() {
        page.ask(&say_lines(&format!("```html\n{leaving}\n```")));
        preview(&page);
        page.until("it ran", "hostile.at(-1).done === 'left'");
        browser.run("hostile.push({})", &[]);
        assert_eq!(browser.text("location.pathname"), "/");
    }
    // What it does on its way out is done when the next page has run for a while.
    let after = "<script>setTimeout(() => top.postMessage({hostile: {done: 'after'}}, '*'), 700)</script>";
    page.ask(&say_lines(&format!("```html\n{after}\n```")));
    preview(&page);
    report(&page, "after");
    canaries.assert_silent("at the end");
    let foreign: Vec<String> =
        browser.asked().into_iter().filter(|address| address.contains("/api/chat")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert_eq!(browser.alert(), None);
}

#[test]
fn frame_of_previews_is_sealed_wherever_it_is_opened() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask(&say_lines("```html\n<p>x\n```"));
    preview(&page);
    let frame = page.browser.text("one('.artefact iframe').src");
    let path = frame.split_once("/dashboard/").map(|(_, rest)| format!("/dashboard/{rest}")).unwrap();
    let answer = page.server().get(&path);
    let policy = answer.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "sandbox allow-scripts;",
        "frame-ancestors 'self'",
        "form-action 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(rule), "{rule} in {policy}");
    }
    for loose in ["http", "'self';", " *", "allow-same-origin", "connect-src"] {
        assert!(!policy.replace("frame-ancestors 'self';", "").contains(loose), "{loose} in {policy}");
    }
    assert_eq!(answer.header("connection-allowlist"), Some("()"));
}

#[test]
fn preview_works_on_a_phone() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.become_phone(390, 844);
    page.ask(&say_lines(PAGE));
    preview(&page);
    page.until("it is shown", "shown(one('.artefact iframe'))");
    page.until(
        "the switch is in sight",
        "one('.code figcaption').getBoundingClientRect().top >= one('.transcript').getBoundingClientRect().top",
    );
    assert!(
        browser.is("document.documentElement.scrollWidth <= innerWidth"),
        "nothing is wider than the phone"
    );
    let small = browser.text(
        "all('.code figcaption button').filter((e) => shown(e) && (e.offsetHeight < 44 || e.offsetWidth < 44)).map((e) => e.outerHTML).join()",
    );
    assert_eq!(small, "", "every button can be hit");
    assert_no_barriers_in_both(browser, "a preview");
    page.assert_clean();
}
