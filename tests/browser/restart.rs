//! The service goes away and comes back, by a kill or politely, in the middle of a reply and with messages that wait. The
//! pages say so calmly, keep drafts, and show the missed events.

use aethon_tests::Server;

use crate::page::{Page, tokens};

/// How much of a reply streams in: long enough to be cut off on any machine.
const STREAMED: u32 = 400;

/// How a server ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Kill,
    Politely,
}

fn through_a_restart(end: End) {
    // A polite end lets the reply finish: it is much shorter than the grace.
    let Some(mut page) = Page::open(&["server.shutdown_grace=60"]) else { return };
    page.begin_stream(&format!("!stream {STREAMED} 25"));
    page.say("!say queued");
    page.until("it waits", "/^Queued/.test(all('.said-state').at(-1)?.innerText)");
    page.fill("#message", "half a thought");
    let attach = "const data = new DataTransfer(); data.items.add(new File(['eggs'], 'list.txt', {type: 'text/plain'}));
        one('#message').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));";
    page.browser.run(attach, &[]);
    page.until("a file is attached", "all('.composer-file').length === 1");

    let home = match end {
        End::Kill => page.kill_server(),
        End::Politely => page.terminate_server(),
    };
    let calm = match end {
        End::Kill => "The connection is lost. What you wrote is kept.",
        End::Politely => "Aethon is restarting. What you wrote is kept.",
    };
    page.until(
        "it says so calmly",
        &format!("shown(one('.banner')) && one('.banner').innerText.startsWith('{calm}')"),
    );
    assert_eq!(
        page.browser.text("one('.banner [role=status]').innerText"),
        calm,
        "the seconds are not read out"
    );
    assert_eq!(page.browser.text("one('#message').value"), "half a thought");

    page.start_server(home);
    page.reconnect();
    page.until(
        "the first is answered",
        &format!("one('.reply .prose')?.innerText.endsWith('token{STREAMED}')"),
    );
    page.until(
        "both are answered",
        "all('.turn').length === 2 && !one('[data-live]') && !one('.said-state')",
    );
    let turns = page.turns();
    assert_eq!(
        (turns[0].reply.as_str(), turns[1].reply.as_str()),
        (tokens(STREAMED).as_str(), "queued"),
        "{end:?}"
    );
    assert!(turns.iter().all(|turn| turn.state.is_empty()), "{turns:?}");
    assert_eq!(page.server().said("webchat:default").len(), 4, "nothing is doubled");
    // The draft is still there, and is sent now.
    assert_eq!(page.browser.text("one('#message').value"), "half a thought");
    page.fill("#message", "!say a whole one");
    page.browser.click(".send");
    page.until(
        "it is answered",
        "all('.reply .prose').at(-1)?.innerText === 'a whole one' && !one('[data-live]')",
    );
    assert!(page.browser.is("all('.turn').at(-1).querySelector('.file-chip').innerText === 'list.txt'"));
    page.assert_clean();
}

#[test]
fn kill_during_a_reply_loses_no_draft() {
    through_a_restart(End::Kill);
}

#[test]
fn graceful_restart_during_a_reply_loses_no_draft() {
    through_a_restart(End::Politely);
}

#[test]
fn dashboard_reconnects_and_reloads_missed_data() {
    let Some(mut page) = Page::beside(Server::start(&[])) else { return };
    page.go("/dashboard#/logs");
    page.until(
        "it is live",
        "/Live/.test(one('.panel-top')?.innerText) && shown(one('.panel-logs .data-table'))",
    );
    page.browser.run("window.isSamePage = true", &[]);
    let home = page.kill_server();
    page.until("it says so", "/Not live/.test(one('.panel-top').innerText) && shown(one('.banner'))");
    assert!(page.browser.is("shown(one('.panel-logs .data-table'))"), "what was there stays");
    page.start_server(home);
    let mut other = page.server().chat("meanwhile");
    other.say("m1", "!say hello");
    page.reconnect();
    page.until("it is live again", "/Live/.test(one('.panel-top').innerText) && !one('.is-stale')");
    page.browser.run("location.hash = '#/overview'", &[]);
    page.until("it is up to date", "/Running/.test(one('.cards')?.innerText)");
    assert!(page.browser.is("window.isSamePage"), "the page was not loaded anew");
    page.assert_clean();
}

#[test]
fn unstored_message_is_kept_and_offered_again() {
    let Some(page) = Page::open(&[]) else { return };
    // The server refuses as it does while its storage fails; the second time it takes the message.
    let refuse = "const send = WebSocket.prototype.send;
        let left = 1;
        WebSocket.prototype.send = function (text) {
            const frame = JSON.parse(text);
            if (frame.type !== 'message' || left === 0) return send.call(this, text);
            left -= 1;
            const error = {type: 'error', code: 'storage_unavailable', message: 'The storage cannot write just now.', id: frame.id};
            setTimeout(() => this.onmessage({data: JSON.stringify(error)}));
        };";
    page.browser.run(refuse, &[]);
    page.say("!say stored at last");
    page.until(
        "it says so",
        "/cannot write just now.*kept here and sent again/.test(one('.said-state')?.innerText)",
    );
    page.until(
        "it is answered",
        "one('.reply .prose')?.innerText === 'stored at last' && !one('.said-state')",
    );
    assert_eq!(page.server().said("webchat:default").len(), 2, "once");
    page.assert_clean();
}

#[test]
fn refused_message_survives_a_reload() {
    let Some(page) = Page::open(&[]) else { return };
    let refuse = "const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) {
            const frame = JSON.parse(text);
            if (frame.type !== 'message') return send.call(this, text);
            const error = {type: 'error', code: 'busy', message: 'Too many wait.', id: frame.id};
            setTimeout(() => this.onmessage({data: JSON.stringify(error)}));
        };";
    page.browser.run(refuse, &[]);
    page.say("!say refused");
    page.until("it says so", "/Not sent. Too many wait./.test(one('.said-state')?.innerText)");
    page.browser.reload();
    page.until("it is still there", "/Not sent. Too many wait./.test(one('.said-state')?.innerText)");
    assert!(page.server().get("/api/sessions/webchat:default").status == 404, "it was not sent by itself");
    page.browser.click_words("Send again");
    assert_eq!(page.settled().reply, "refused");
    page.browser.reload();
    page.until("once", "all('.turn').length === 1 && !one('.said-state')");
    page.assert_clean();
}
