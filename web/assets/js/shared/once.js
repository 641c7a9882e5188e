// Something that costs time to make, made when it is first needed, and kept.

/** @template T @param {() => T} build @returns {() => T} */
export function once(build) {
  /** @type {T | undefined} */ let made;
  return () => (made ??= build());
}
