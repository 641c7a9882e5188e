// Applies the stored theme before the first paint. A classic script in the head, because modules run too late; the switch itself
// is in shared/theme.js.
(() => {
  try {
    const theme = localStorage.getItem("aethon.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; then the page follows the system.
  }
})();
