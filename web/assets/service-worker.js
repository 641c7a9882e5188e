// What the installed page does while the server is away: the chat opens from a copy, says so, and keeps what is written. Copied are
// the page of the chat and the files it loads, which are the same for everyone; nothing below /api/ and no other page is stored.
// Pages always come from the server if it answers. A new version of the server registers a new address (`shared/installed.js`), and
// its worker removes the copies of the one before.

/** @type {any} */ const worker = globalThis;
const home = new URL(worker.registration.scope).pathname;
const asked = new URL(worker.location.href).searchParams;
const tree = asked.get("tree") ?? "";
const files = `${home}dashboard/static/${tree}/`;
/** The copies of this address of the host begin with that name. */
const prefix = `aethon ${home} `;
const name = prefix + tree;
/** Whether the last page came from a copy. Otherwise files are left to the browser, which is faster without a detour. */
let isAway = false;
/** What a proxy answers in place of a server that is away. */
const away = [502, 503, 504];

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(copy()));
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(clean()));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== worker.location.origin) return;
  if (request.mode === "navigate" && [home, `${home}dashboard`, `${home}docs`].includes(pathname)) {
    event.respondWith(page(request, pathname === home));
  } else if (isAway && pathname.startsWith(files)) {
    event.respondWith(file(request));
  }
});

worker.addEventListener("push", (/** @type {any} */ event) => event.waitUntil(tell(event.data)));
worker.addEventListener("pushsubscriptionchange", (/** @type {any} */ event) => event.waitUntil(renew(event)));
worker.addEventListener("notificationclick", (/** @type {any} */ event) => event.waitUntil(open(event.notification)));

/**
 * What is said of each kind of news, and by the page in place of one that only the server can show. The news itself is shown by the
 * page, to those who are signed in. A worker cannot import the catalogues of the pages, so these texts stand here in every language.
 */
const spoken = {
  en: {
    news: {
      approval: "Aethon asks for your approval.",
      reply: "Aethon has answered.",
      failure: "A reply has failed.",
    },
    title: "Aethon is away",
    why: "The server does not answer: it is off, restarting, or out of reach of this device.",
    again: "Try again",
    chat: "Open the chat",
    kept: "What you write in the chat stays on this device until the server is back.",
  },
  de: {
    news: {
      approval: "Aethon bittet um Ihre Freigabe.",
      reply: "Aethon hat geantwortet.",
      failure: "Eine Antwort ist fehlgeschlagen.",
    },
    title: "Aethon ist nicht erreichbar",
    why: "Der Server antwortet nicht: Er ist aus, startet neu oder ist für dieses Gerät nicht erreichbar.",
    again: "Noch einmal versuchen",
    chat: "Chat öffnen",
    kept: "Was Sie im Chat schreiben, bleibt auf diesem Gerät, bis der Server wieder da ist.",
  },
};
/** The language of the page that registered this worker. */
const language = /** @type {keyof typeof spoken} */ (Object.keys(spoken).find((one) => one === asked.get("lang")) ?? "en");
const words = spoken[language];

/** @param {any} data */
async function tell(data) {
  const { kind, session = "" } = data?.json() ?? {};
  const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (windows.some((/** @type {any} */ one) => one.visibilityState === "visible")) return;
  await worker.registration.showNotification("Aethon", {
    body: words.news[/** @type {keyof typeof words.news} */ (kind)] ?? words.news.reply,
    tag: String(session),
    icon: `${files}icons/icon-192.png`,
    badge: `${files}icons/badge-96.png`,
    data: session.startsWith("webchat:") ? `${home}#/${encodeURIComponent(session.slice(8))}` : `${home}dashboard#/approvals`,
  });
}

/**
 * The browser has changed the address for its messages while no page is open: the server is given the new one in place of the old one.
 * @param {any} event
 */
async function renew({ oldSubscription, newSubscription }) {
  const path = `${home}api/push/subscriptions`;
  const send = (/** @type {string} */ method, /** @type {unknown} */ body) =>
    fetch(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  let subscription = newSubscription;
  if (!subscription) {
    const { key } = await (await fetch(`${home}api/push/key`)).json();
    subscription = await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  }
  const answer = await send("POST", subscription.toJSON());
  // Signed out, the next visit hands the new address over; the old one is forgotten when it fails.
  if (answer.ok && oldSubscription) await send("DELETE", { endpoint: oldSubscription.endpoint });
}

/** Shows what a notification is about: in a window that is open, or in a new one. @param {any} notification */
async function open(notification) {
  notification.close();
  const address = new URL(notification.data, worker.location.origin);
  const windows = await worker.clients.matchAll({ type: "window" });
  const fitting = windows.find((/** @type {any} */ one) => new URL(one.url).pathname === address.pathname);
  if (!fitting) return worker.clients.openWindow(address.href);
  await fitting.focus();
  if (fitting.url !== address.href) await fitting.navigate(address.href);
}

async function copy() {
  const page = await fetch(home, { cache: "no-cache", credentials: "omit" });
  const text = await page.clone().text();
  const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]).filter((it) => it.startsWith(files));
  if (!page.ok || !named.length) throw new Error("the page of another version");
  const cache = await caches.open(name);
  const foreign = language === "en" ? [] : [`${files}js/texts/${language}/page-chat.js`];
  await cache.addAll([...new Set([...named, ...foreign, `${files}css/page-sign-in.css`, `${files}js/early/away.js`])]);
  await cache.put(home, page);
  await worker.skipWaiting();
}

async function clean() {
  const all = await caches.keys();
  await Promise.all(all.filter((one) => one.startsWith(prefix) && one !== name).map((one) => caches.delete(one)));
  await worker.clients.claim();
}

/** @param {Request} request @param {boolean} isChat */
async function page(request, isChat) {
  const answer = await fetch(request).catch(() => null);
  isAway = !answer || away.includes(answer.status);
  if (answer && !isAway) return answer;
  const kept = await (await caches.open(name)).match(home);
  if (!kept) return answer ?? Response.error();
  if (isChat) return kept;
  return new Response(notice(), { status: 503, headers: [...kept.headers].filter(([field]) => !/^(etag|content-(length|encoding))$/i.test(field)) });
}

/** Files of this version never change, so the browser's own copy is as good as the server's. @param {Request} request */
async function file(request) {
  return fetch(request).catch(async () => (await (await caches.open(name)).match(request.url)) ?? Response.error());
}

/** The page in place of one that only the server can show. */
function notice() {
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${words.title}</title><link rel="stylesheet" href="${files}css/page-sign-in.css">
<script src="${files}js/early/theme.js"></script><script src="${files}js/early/away.js"></script></head><body><main class="gate"><div class="gate-card">
<h1>${words.title}</h1><p class="quiet">${words.why}</p>
<p><button class="button button-primary" type="button">${words.again}</button> <a class="button" href="${home}">${words.chat}</a></p>
<p class="quiet">${words.kept}</p></div></main></body></html>`;
}
