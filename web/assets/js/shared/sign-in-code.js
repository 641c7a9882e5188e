// Signing in with a code that another device shows, usually as a QR code. The code is in the fragment of the address, which neither
// servers nor proxies receive, counts once, and leaves the address before anything else happens.

import { at } from "./base.js";

/** Takes the code out of the address. @returns {string} "" if there is none */
export function takeCode() {
  const code = /^#sign-in=([0-9a-f]{32})$/.exec(location.hash)?.[1] ?? "";
  if (code) history.replaceState(null, "", at("/"));
  return code;
}

/** Exchanges a code for the cookie. @param {string} code @returns {Promise<boolean>} whether it counted */
export async function useCode(code) {
  const options = /** @type {const} */ ({ headers: { "X-Aethon-Code": code }, cache: "no-store", redirect: "manual" });
  const answer = await fetch(at("/dashboard"), options).catch(() => null);
  return answer?.ok ?? false;
}
