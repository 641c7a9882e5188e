// Asks for what the first view of the dashboard shows while its modules are still on their way: a phone on a slow line
// would otherwise wait for them first and for the answers after. A classic script ahead of the styles, because it waits for
// nothing there. `shared/early.js` hands the answers over. Which addresses the frame and the overview ask for is said here
// again, and a test keeps the two lists the same.
(() => {
  const everywhere = ["/api/status", "/api/approvals", "/api/usage?days=1"];
  const overview = [
    "/api/usage?days=14", "/api/ready", "/api/features", "/api/scheduler", "/api/sessions?limit=50", "/api/sops",
    "/api/outbox?state=failed&limit=1", "/api/logs?level=error&limit=50", "/api/telemetry?limit=1&days=14", "/api/logs?level=info&limit=6",
  ];
  const isOverview = ["", "#", "#/", "#/overview"].includes(location.hash);
  const asked = new Map();
  for (const path of isOverview ? [...everywhere, ...overview] : everywhere) {
    const answer = fetch(path, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(20000) });
    // Whoever takes it hears of the failure; if nobody does, it is none.
    answer.catch(() => undefined);
    asked.set(path, answer);
  }
  // What nobody has taken by then is too old to be shown as new.
  setTimeout(() => asked.clear(), 10000);
  Object.assign(globalThis, { aethonEarlyAnswers: asked });
})();
