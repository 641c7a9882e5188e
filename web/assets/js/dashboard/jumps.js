// The letter that opens each panel after `g`; the palette shows them too.

/** @type {Record<string, string>} */
export const jumps = {
  o: "overview",
  y: "company",
  v: "monitor",
  a: "approvals",
  s: "sessions",
  e: "agents",
  w: "sops",
  j: "scheduler",
  r: "recordings",
  m: "memory",
  u: "usage",
  f: "features",
  c: "config",
  l: "logs",
};
