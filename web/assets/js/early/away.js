// The page that the service worker shows while the server is away: loads the wanted page as soon as the server answers again, or
// when the reader asks for it. A link would not do: to its own address with a fragment it only scrolls.
(() => {
  const own = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  const health = `${own ? new URL(own.src).pathname.split("/dashboard/static/")[0] : ""}/health`;
  const look = async () => {
    if (document.hidden) return;
    const answer = await fetch(health, { cache: "no-store" }).catch(() => null);
    if (answer?.ok) location.reload();
  };
  addEventListener("DOMContentLoaded", () =>
    document.querySelector("button")?.addEventListener("click", () => location.reload()),
  );
  addEventListener("online", () => void look());
  document.addEventListener("visibilitychange", () => void look());
  setInterval(() => void look(), 5000);
})();
