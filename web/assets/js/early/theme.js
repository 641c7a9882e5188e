// Applies the stored theme before the first paint. A classic script in the head, because modules run too late; the switch itself
// is in shared/theme.js.
(() => {
  try {
    const theme = localStorage.getItem("aethon.theme");
    if (theme !== "light" && theme !== "dark") return;
    document.documentElement.dataset.theme = theme;
    for (const meta of /** @type {NodeListOf<HTMLMetaElement>} */ (document.querySelectorAll('meta[name="theme-color"]')))
      meta.media = meta.dataset.for === theme ? "all" : "not all";
  } catch {
    // Storage may be forbidden; then the page follows the system.
  }
})();
