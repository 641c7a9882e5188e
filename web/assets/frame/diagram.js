// Draws a diagram in its frame, and tells the page its height or what is wrong with it. A classic script, because the frame has no
// origin of its own, from which modules could be loaded.
(() => {
  /** @type {any} */
  const mermaid = /** @type {any} */ (window).mermaid;
  const place = /** @type {HTMLElement} */ (document.getElementById("diagram"));
  let drawings = 0;

  /** @param {object} answer */
  const tell = (answer) => parent.postMessage(answer, "*");

  const measure = () => {
    const svg = place.querySelector("svg");
    if (svg) tell({ height: svg.getBoundingClientRect().height + 24 });
  };

  /** @param {string} text @param {boolean} isDark */
  async function draw(text, isDark) {
    drawings += 1;
    const own = drawings;
    document.documentElement.classList.toggle("is-dark", isDark);
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      theme: isDark ? "dark" : "default",
      fontFamily: "system-ui, sans-serif",
      maxTextSize: 50000,
      maxEdges: 600,
      suppressErrorRendering: true,
    });
    try {
      const { svg } = await mermaid.render(`diagram-${own}`, text);
      if (own !== drawings) return;
      const parsed = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
      if (!parsed) throw new Error("nothing was drawn");
      // It leads nowhere: a link would replace the diagram in its frame.
      for (const link of parsed.querySelectorAll("a")) {
        link.removeAttribute("href");
        link.removeAttribute("xlink:href");
      }
      place.replaceChildren(parsed);
      measure();
    } catch (fault) {
      tell({ fault: String(/** @type {any} */ (fault)?.message ?? fault) });
    }
  }

  addEventListener("message", (event) => {
    if (event.source !== parent) return;
    const { text, isDark } = event.data ?? {};
    if (typeof text === "string") void draw(text, isDark === true);
  });
  addEventListener("resize", measure);
  tell({ isReady: true });
})();
