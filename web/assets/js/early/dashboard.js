// Requests what the dashboard's first view needs while its modules are still loading: on a slow connection, a phone would otherwise
// wait first for the page's script, then for the panel's, and then for the answers. A classic script ahead of the styles, where it
// waits for nothing. `shared/early.js` hands the answers over. The panels, and the addresses that the frame and some of them request,
// are repeated here; a test keeps the lists equal.
(() => {
  const everywhere = ["/api/status", "/api/approvals", "/api/usage?days=1"];
  /** @type {Record<string, string[]>} The panels, and what they ask for that is worth asking for ahead. */
  const panels = {
    overview: [
      "/api/usage?days=14",
      "/api/ready",
      "/api/features",
      "/api/scheduler?limit=1000",
      "/api/sessions?limit=50",
      "/api/sops",
      "/api/outbox?state=failed&limit=1",
      "/api/logs?level=error&limit=50",
      "/api/telemetry?limit=1&days=14",
      "/api/logs?level=info&limit=6",
    ],
    company: [],
    monitor: [],
    approvals: [],
    sessions: [],
    agents: [],
    sops: [],
    scheduler: [],
    recordings: [],
    memory: [],
    channels: [],
    usage: [],
    features: [],
    config: ["/api/config", "/api/config/schema", "/api/config/origins"],
    logs: [],
  };
  const panel = location.hash.replace(/^#?\/?/, "").split(/[/?]/)[0] || "overview";
  // The path below which a proxy offers the service, as in `shared/base.js`.
  const own = /** @type {HTMLScriptElement | null | undefined} */ (globalThis.document?.currentScript);
  const base = own ? new URL(own.src).pathname.split("/dashboard/static/")[0] : "";
  if (own && Object.hasOwn(panels, panel)) {
    const ahead = (/** @type {string} */ file, /** @type {object} */ kind) =>
      document.head.append(Object.assign(document.createElement("link"), { href: new URL(file, own.src).pathname, ...kind }));
    ahead(`../dashboard/panels/${panel}/index.js`, { rel: "modulepreload" });
    // The page's own styles include those of the overview.
    if (panel !== "overview") ahead(`../../css/panels/${panel}.css`, { rel: "preload", as: "style" });
  }
  const asked = new Map();
  for (const path of [...everywhere, ...(Object.hasOwn(panels, panel) ? panels[panel] : [])]) {
    const answer = fetch(base + path, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(20000) });
    // The module that takes the answer handles the failure; if none takes it, the failure does not matter.
    answer.catch(() => undefined);
    asked.set(path, answer);
  }
  // Answers not taken by then are too old to be shown as fresh.
  setTimeout(() => asked.clear(), 10000);
  Object.assign(globalThis, { aethonEarlyAnswers: asked });
})();
