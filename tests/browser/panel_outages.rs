//! The dashboard without its server, and with one that answers with errors: every panel says so, and is back by itself or at a
//! press once the server is.

use serde_json::json;

use crate::used_server::{UsedServer, View};

/// Every answer of the API, but not the pages, the scripts and the sockets, is this error while `failing` is set.
const FAILING: &str = "const real = window.fetch;
    window.fetch = async (resource, options) => {
        const status = Number(localStorage.getItem('failing'));
        if (!status || !new URL(resource, location.href).pathname.startsWith('/api/')) return real(resource, options);
        const problem = {type: 'about:blank', title: 'No', status, code: 'storage', detail: 'The disk is full of holes.'};
        return new Response(JSON.stringify(problem), {status, headers: {'Content-Type': 'application/problem+json'}});
    };";

fn words() -> Vec<String> {
    vec!["Plans for the garden".to_owned(), "Rent is due".to_owned()]
}

/// The panels, and their items with an address of their own.
fn panels(used_server: &UsedServer) -> impl Iterator<Item = &View> {
    used_server.views.iter().filter(|view| {
        !view.address.contains('?') && !view.address.contains("/new") && view.address != "nowhere"
    })
}

#[test]
fn every_panel_reports_a_failing_api_and_retries_at_a_press() {
    let Some(used_server) = UsedServer::open(&words()) else { return };
    let page = &used_server.page;
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": FAILING}));
    for (view, status) in panels(&used_server).zip([500, 503].into_iter().cycle()) {
        page.go("/dashboard#/nowhere");
        page.browser.run(&format!("localStorage.setItem('failing', '{status}')"), &[]);
        page.go(&format!("/dashboard?failing=1#/{}", view.address));
        let told = "/The disk is full of holes/.test(document.body.innerText) && !one('.skeleton')";
        page.until(&format!("{} tells the error {status}", view.address), told);
        page.browser.run("localStorage.removeItem('failing')", &[]);
        let press = format!(
            "(all('button').filter((button) => shown(button) && button.innerText.trim() === 'Try again').forEach((button) => button.click()),
              {} && !/full of holes/.test(document.body.innerText))",
            view.ready
        );
        page.until(&format!("{} is back", view.address), &press);
    }
    page.assert_clean();
}

#[test]
fn every_panel_reports_a_stopped_server_and_its_return() {
    let Some(mut used_server) = UsedServer::open(&words()) else { return };
    let addresses: Vec<(String, String)> = panels(&used_server)
        .filter(|view| !view.address.contains('/'))
        // A question dies with the server that asked it.
        .map(|view| {
            (
                view.address.clone(),
                view.ready
                    .replace("shown(one('.approval')) && ", "")
                    .replace("shown(one('.asked .approval')) && ", ""),
            )
        })
        .collect();
    for (address, ready) in addresses {
        used_server.page.go(&format!("/dashboard?away=1#/{address}"));
        used_server.page.until(&address, &format!("!one('.skeleton') && {ready}"));
        let home = used_server.page.kill_server();
        let page = &used_server.page;
        page.until(
            &format!("{address} says that nobody answers"),
            "shown(one('.banner')) && one('.panel-body').classList.contains('is-stale') && /Not live|Reconnecting|Offline/i.test(one('.panel-link').innerText)",
        );
        assert!(page.browser.is(&ready), "{address} keeps what it showed");
        // A question asked meanwhile gets an error message too, and the content shown stays.
        let other = if address == "features" { "logs" } else { "features" };
        page.browser.run(&format!("one('a[data-panel={other}]').click()"), &[]);
        page.until("another panel says so", "shown(one('.banner')) && !one('.skeleton')");
        page.browser.run("history.back()", &[]);
        used_server.start(home);
        used_server.page.reconnect();
        used_server.page.until(
            &format!("{address} is back"),
            &format!("/Live/.test(one('.panel-link').innerText) && !one('.panel-body.is-stale') && !one('.skeleton') && !one('.blank[data-tone=bad]') && one('a[data-panel={address}][aria-current]')"),
        );
    }
}
