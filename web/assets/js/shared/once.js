// Creates an expensive value when it is first needed, and keeps it.

/** @template [T=unknown] @param {() => T} build @returns {() => T} */
export function once(build) {
  /** @type {T | undefined} */ let made;
  return () => (made ??= build());
}
