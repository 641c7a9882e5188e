// Requests the data of the dashboard's first view while its modules are still loading: on a slow connection, a phone would
// otherwise wait first for the modules and then for the answers. A classic script ahead of the styles, where it waits for
// nothing. `shared/early.js` hands the answers over. The addresses requested by the frame and the overview are repeated here; a
// test keeps the two lists equal.
(() => {
  const everywhere = ["/api/status", "/api/approvals", "/api/usage?days=1"];
  const overview = [
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
  ];
  const isOverview = ["", "#", "#/", "#/overview"].includes(location.hash);
  // The path below which a proxy offers the service, as in `shared/base.js`.
  const own = /** @type {HTMLScriptElement | null | undefined} */ (globalThis.document?.currentScript);
  const base = own ? new URL(own.src).pathname.split("/dashboard/static/")[0] : "";
  const asked = new Map();
  for (const path of isOverview ? [...everywhere, ...overview] : everywhere) {
    const answer = fetch(base + path, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(20000) });
    // The module that takes the answer handles the failure; if none takes it, the failure does not matter.
    answer.catch(() => undefined);
    asked.set(path, answer);
  }
  // Answers not taken by then are too old to be shown as fresh.
  setTimeout(() => asked.clear(), 10000);
  Object.assign(globalThis, { aethonEarlyAnswers: asked });
})();
