// The icon of the page.

/** The icon from the page's own head, so that its address has the same hash. */
export function iconAddress() {
  return document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";
}
