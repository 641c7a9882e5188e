//! The pages behind a proxy that offers the service below a path of its host (`server.base_path`).

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;

use crate::page::Page;

const TOKEN: &str = "s3cret-t0ken-of-the-owner";
const SETTINGS: [&str; 2] = ["dashboard.auth_token=s3cret-t0ken-of-the-owner", "server.base_path=/aethon"];

/// A proxy that takes `/aethon` away, and to which every other path is a stranger.
struct Proxy {
    address: SocketAddr,
    strayed: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn to(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let strayed = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&strayed);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || drop(pass(client, service, &seen)));
            }
        });
        Self { address, strayed }
    }
}

fn pass(mut client: TcpStream, service: SocketAddr, strayed: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (line, fields) = head.split_once("\r\n").unwrap_or_default();
    let Some((method, target)) = line.split_once(" /aethon/") else {
        strayed.lock().expect("a lock").push(line.to_owned());
        return client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let is_upgrade = fields.to_ascii_lowercase().contains("upgrade: websocket");
    let fields = match is_upgrade {
        true => fields.to_owned(),
        false => fields.replace("Connection: keep-alive", "Connection: close"),
    };
    let mut upstream = TcpStream::connect(service)?;
    write!(upstream, "{method} /{target}\r\n{fields}")?;
    let (mut from, mut to) = (client.try_clone()?, upstream.try_clone()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    std::io::copy(&mut upstream, &mut client)?;
    client.shutdown(Shutdown::Both)
}

/// Signs in, talks, looks into the dashboard and signs out, all below the path.
fn use_the_pages(page: &Page, origin: &str) {
    page.browser.open(&format!("{origin}/aethon/"));
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", TOKEN);
    page.browser.chord(&[ENTER]);
    page.until("the chat is there", "shown(one('#message')) && shown(one('.welcome'))");
    assert_eq!(page.ask("!say below a path").reply, "below a path");
    page.browser.open(&format!("{origin}/aethon/dashboard"));
    page.until("the state is told", "/Running/.test(one('.cards')?.innerText)");
    page.until("it is live", "/Live/.test(one('[role=status]').innerText)");
    page.browser.click("a[data-panel=sessions]");
    page.until("the conversation is listed", "all('.data-table tbody tr[data-key]').length === 1");
    page.browser.run("one('.rail a[href$=\"/aethon/\"]').click()", &[]);
    page.until(
        "the chat again",
        "location.pathname === '/aethon/' && one('.reply .prose')?.innerText === 'below a path'",
    );
    page.browser.open(&format!("{origin}/aethon/docs"));
    page.until("the API is described", "all('.docs-group').length > 5");
    page.browser.open(&format!("{origin}/aethon/docs/handbook"));
    page.browser.run("one('main a[href$=\"/ollama\"]').click()", &[]);
    page.until("a page of the handbook", "location.pathname === '/aethon/docs/handbook/ollama'");
    page.until("it has its style", "getComputedStyle(one('.book')).display === 'grid'");
    page.browser.open(&format!("{origin}/aethon/dashboard"));
    page.until("the state is told", "/Running/.test(one('.cards')?.innerText)");
    page.browser.click("//button[normalize-space()='Sign out']");
    page.until("it asks again", "shown(one('#token'))");
}

#[test]
fn the_pages_work_behind_a_proxy_that_takes_the_path_away() {
    let Some(page) = Page::beside(Server::start(&SETTINGS)) else { return };
    let proxy = Proxy::to(page.server().address);
    use_the_pages(&page, &format!("http://{}", proxy.address));
    let strayed = proxy.strayed.lock().expect("a lock").clone();
    let strayed: Vec<_> = strayed.iter().filter(|line| !line.contains("/favicon.ico")).collect();
    assert!(strayed.is_empty(), "nothing is asked outside the path: {strayed:?}");
}

#[test]
fn the_pages_work_behind_a_proxy_that_keeps_the_path() {
    let Some(page) = Page::beside(Server::start(&SETTINGS)) else { return };
    use_the_pages(&page, &format!("http://{}", page.server().address));
    // Opened on the machine itself, without the path, a sign-in leads below it, where its cookie counts.
    page.go("/dashboard#/logs");
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", TOKEN);
    page.browser.chord(&[ENTER]);
    page.until(
        "the panel is there",
        "location.pathname === '/aethon/dashboard' && one('h1')?.innerText === 'Logs'",
    );
}
