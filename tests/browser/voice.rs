//! A conversation by voice: it listens, sends, reads the answer aloud, and lets the microphone go when it ends.

use std::f64::consts::TAU;
use std::path::Path;

use aethon_tests::browser::keys::ESCAPE;
use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Browser, Server};
use serde_json::json;
use tempfile::TempDir;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;
use crate::reading::VOICE;
use crate::slow_model::SlowModel;

const RATE: u32 = 16_000;

/// Sound like speech for a second and a half in six seconds of quiet, which the browser repeats.
fn write_speech(path: &Path) {
    let mut bytes = Vec::new();
    let count = RATE * 6;
    for header in [b"RIFF", &(36 + count * 2).to_le_bytes(), b"WAVE", b"fmt ", &16_u32.to_le_bytes()] {
        bytes.extend_from_slice(header);
    }
    for number in [1_u16, 1] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&RATE.to_le_bytes());
    bytes.extend_from_slice(&(RATE * 2).to_le_bytes());
    for number in [2_u16, 16] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(b"data");
    bytes.extend_from_slice(&(count * 2).to_le_bytes());
    for sample in 0..count {
        let time = f64::from(sample) / f64::from(RATE);
        let is_speech = (1.0..2.5).contains(&time);
        // A voice that rises and falls, in syllables: a steady tone would be taken for the noise of the room.
        let tone: f64 = (1..12)
            .map(|harmonic| {
                (TAU * f64::from(harmonic) * (140.0 * time - 9.0 * (TAU * 0.8 * time).cos())).sin()
                    / f64::from(harmonic)
            })
            .sum();
        let loudness = if is_speech { 0.35 * (0.35 + 0.65 * (TAU * 2.0 * time).sin().abs()) } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "a sample lies within 16 bits")]
        let value = (tone * loudness * 12_000.0) as i16;
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

/// A page with a voice, a microphone with somebody at it, and a service that hears these words.
struct Spoken {
    page: Page,
    _service: Stub,
    _folder: TempDir,
}

impl Spoken {
    fn open(heard: &'static str, settings: &[&str]) -> Option<Self> {
        let answer = json!({"text": heard}).to_string();
        Self::with(Stub::answering(move |_| ok("application/json", &answer)), settings)
    }

    fn with(service: Stub, settings: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let sound = folder.path().join("speech.wav");
        write_speech(&sound);
        let own = [
            "transcription.provider=openai".to_owned(),
            format!("transcription.host=http://{}/v1", service.address),
            "transcription.api_key=sk-anything-0123456789".to_owned(),
        ];
        let settings: Vec<&str> = own.iter().map(String::as_str).chain(settings.iter().copied()).collect();
        let page = Page::with(Browser::start_hearing(&sound)?, Server::start(&settings));
        page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": VOICE}));
        let keep = "const ask = MediaDevices.prototype.getUserMedia;
            MediaDevices.prototype.getUserMedia = async function (wanted) { return (window.stream = await ask.call(this, wanted)); };";
        page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": keep}));
        page.go("/");
        page.until("it is offered", "shown(one('.voice-button'))");
        Some(Self { page, _service: service, _folder: folder })
    }

    fn begin(&self) {
        self.page.browser.click(".voice-button");
        self.until_state("listening");
        assert_eq!(
            self.page.browser.text("stream.getTracks().map((track) => track.readyState).join()"),
            "live"
        );
    }

    fn until_state(&self, state: &str) {
        self.page.until(state, &format!("one('.voice')?.dataset.state === '{state}'"));
    }

    /// The sentence that is being read comes to its end.
    fn finish_sentence(&self) {
        self.page.browser.run("current.dispatchEvent(new Event('end'))", &[]);
    }

    /// It is over, and nobody listens.
    fn assert_ended(&self) {
        self.page.until("it is over", "!one('.voice') && one('.voice-button').ariaPressed === 'false'");
        assert_eq!(
            self.page.browser.text("stream.getTracks().map((track) => track.readyState).join()"),
            "ended"
        );
    }
}

#[test]
fn spoken_sentence_is_sent_and_its_answer_read_aloud() {
    let Some(spoken) = Spoken::open("!say First one. Second one.", &[]) else { return };
    let (page, browser) = (&spoken.page, &spoken.page.browser);
    assert!(
        !browser.asked().iter().any(|address| address.contains("chat/voice.js")),
        "loaded when it is wanted"
    );
    spoken.begin();
    assert_eq!(browser.text("one('.voice-state').innerText"), "Listening");
    page.until(
        "what was understood is sent",
        "one('.turn .said-text')?.innerText === '!say First one. Second one.'",
    );
    assert_eq!(browser.text("one('.voice-heard').innerText"), "Understood: !say First one. Second one.");
    page.until("the answer is read", "spoken.length === 1");
    spoken.until_state("speaking");
    assert!(browser.is("stream.getTracks().every((track) => !track.enabled)"), "it does not hear itself");
    spoken.finish_sentence();
    page.until("the next sentence is read", "spoken.length === 2");
    assert_eq!(
        browser.text("JSON.stringify(spoken.map(([, text]) => text))"),
        r#"["First one.","Second one."]"#
    );
    spoken.finish_sentence();
    spoken.until_state("listening");
    page.until("it hears again", "all('.turn').length === 2");

    // A key stops the reading, and it listens at once.
    page.until("the second answer is read", "spoken.length === 3");
    browser.type_keys("x");
    spoken.until_state("listening");
    assert!(browser.is("isCancelled && spoken.length === 3"));
    browser.chord(&[ESCAPE]);
    spoken.assert_ended();
    assert_eq!(browser.text("one('.composer-error').innerText"), "", "there is nothing to complain of");
    page.assert_clean();
}

#[test]
fn answer_is_read_while_it_arrives() {
    let model = SlowModel::start();
    let settings = model.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(spoken) = Spoken::open("tell me", &settings) else { return };
    let (page, browser) = (&spoken.page, &spoken.page.browser);
    spoken.begin();
    model.say("One sentence is complete. Another is");
    page.until("the first sentence is read", "spoken.length === 1");
    assert_eq!(browser.text("spoken[0][1]"), "One sentence is complete.");
    spoken.finish_sentence();
    spoken.until_state("thinking");
    model.say(" on its way.");
    model.end();
    page.until("the rest is read", "spoken.length === 2");
    assert_eq!(browser.text("spoken[1][1]"), "Another is on its way.");
    browser.click(".voice [aria-label='End voice conversation']");
    spoken.assert_ended();
    page.assert_clean();
}

#[test]
fn approval_is_read_out_and_answered_by_hand() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let heard = "!tool file_read {\"path\": \"notes.txt\"}";
    let Some(spoken) = Spoken::open(heard, &settings) else { return };
    let (page, browser) = (&spoken.page, &spoken.page.browser);
    spoken.begin();
    page.until("it is read out", "spoken.length === 1");
    assert_eq!(
        browser.text("spoken[0][1]"),
        "Your approval is needed for file_read. Please answer on the page."
    );
    spoken.finish_sentence();
    spoken.until_state("waiting");
    assert!(
        browser.is("stream.getTracks().every((track) => !track.enabled)"),
        "it does not listen for an answer"
    );
    assert_no_barriers_in_both(browser, "a voice conversation");
    browser.click("//*[contains(@class,'approval-actions')]//button[1]");
    page.until("it goes on", "one('.voice').dataset.state !== 'waiting'");
    browser.chord(&[ESCAPE]);
    spoken.assert_ended();
}

#[test]
fn microphone_is_released_when_the_conversation_is_left_or_unseen() {
    let Some(spoken) = Spoken::open("hello", &[]) else { return };
    let browser = &spoken.page.browser;
    spoken.begin();
    browser.click_words("New chat");
    spoken.assert_ended();
    spoken.begin();
    browser.run(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true});
        document.dispatchEvent(new Event('visibilitychange')); delete document.hidden",
        &[],
    );
    spoken.assert_ended();
    spoken.begin();
    browser.click(".voice-button");
    spoken.assert_ended();
    spoken.page.assert_clean();
}

#[test]
fn voice_conversation_says_why_it_ended() {
    let service =
        Stub::answering(|_| failure("400 Bad Request", "", r#"{"error": {"message": "too noisy"}}"#));
    let Some(spoken) = Spoken::with(service, &[]) else { return };
    let (page, browser) = (&spoken.page, &spoken.page.browser);
    spoken.begin();
    page.until("it is told", "/could not be written down/.test(one('.composer-error').innerText)");
    spoken.assert_ended();
    browser.run(
        "MediaDevices.prototype.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); }",
        &[],
    );
    browser.click(".voice-button");
    page.until("it is told", "/gives this page no microphone/.test(one('.composer-error').innerText)");
    assert!(!browser.is("one('.voice')"));
    page.assert_clean();
}

#[test]
fn voice_conversation_needs_a_voice_and_a_transcriber() {
    let Some(page) = Page::open(&[]) else { return };
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": VOICE}));
    page.browser.reload();
    page.until("the page is ready", "shown(one('.suggestions button'))");
    assert!(!page.browser.is("shown(one('.voice-button'))"), "nothing would write down what is said");
    let Some(spoken) = Spoken::open("hello", &[]) else { return };
    spoken.page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": "VOICES = []"}));
    spoken.page.browser.reload();
    spoken.page.until("dictation is offered", "shown(one('.dictate'))");
    assert!(!spoken.page.browser.is("shown(one('.voice-button'))"), "nothing would read aloud");
}

#[test]
fn voice_conversation_fits_a_phone() {
    let Some(spoken) = Spoken::open("!say Yes.", &[]) else { return };
    let browser = &spoken.page.browser;
    spoken.page.become_phone(390, 844);
    spoken.page.until("it is offered", "shown(one('.voice-button'))");
    spoken.begin();
    spoken.page.until("it is read", "spoken.length === 1");
    assert!(browser.is("document.documentElement.scrollWidth <= innerWidth && one('.voice').scrollWidth <= one('.voice').clientWidth"));
    let small = "all('.voice button, .composer-row button').filter((e) => shown(e) && (e.offsetHeight < 40 || e.offsetWidth < 40)).map((e) => e.outerHTML).join()";
    assert_eq!(browser.text(small), "");
    assert_no_barriers_in_both(browser, "a voice conversation on a phone");
}
