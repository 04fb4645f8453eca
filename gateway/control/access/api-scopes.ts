/**
 * Scopes of the operators' API: what an operation is about, and whether it changes that. Those of a route follow from its path
 * and method (faces/api/route.ts); a test holds this list equal to them.
 */
export const apiScopes = [
  'audit:read',
  'bans:read',
  'customers:read',
  'customers:write',
  'keys:read',
  'keys:write',
  'links:write',
  'plans:read',
  'plans:write',
  'policy:read',
  'policy:write',
  'traffic:read',
  'usage:read',
  'webhooks:read',
  'webhooks:write',
] as const;

export type ApiScope = (typeof apiScopes)[number];

export function isApiScope(text: string): text is ApiScope {
  return apiScopes.some((scope) => scope === text);
}

/** Whether the scopes permit what needs one. A scope to write permits to read as well. */
export function permits(scopes: readonly string[], needed: ApiScope): boolean {
  return scopes.includes(needed) || scopes.includes(needed.replace(/:read$/, ':write'));
}
