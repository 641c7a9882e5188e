// Chooses the language before the first paint: the one in the address (`?lang=de`, which is kept), the one kept in this browser, or
// the first of the browser's languages that there is. A classic script in the head, so that the words of another language are on
// their way while the modules still load. The page's own part is in shared/language.js, the choice in shared/language-choice.js.
(() => {
  const languages = ["en", "de"];
  const key = "aethon.language";
  const root = document.documentElement;
  const known = (/** @type {string | null} */ tag) => languages.find((one) => one === tag?.toLowerCase().split("-")[0]);
  let chosen = known(new URLSearchParams(location.search).get("lang"));
  try {
    if (chosen) localStorage.setItem(key, chosen);
    else chosen = known(localStorage.getItem(key));
  } catch {
    // Storage may be forbidden; then the address and the browser decide.
  }
  root.lang = chosen ?? (navigator.languages ?? []).map(known).find(Boolean) ?? "en";
  const own = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  if (root.lang === "en" || !own) return;
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.href = new URL(`../texts/${root.lang}/page-${root.dataset.texts}.js`, own.src).href;
  document.head.append(link);
})();
