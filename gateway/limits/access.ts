/** What an operation asks of a key. */
export interface OperationAccess {
  /** Scopes that the key needs, all of them. */
  scopes: readonly string[];
  /** Units that a request costs of each window. */
  cost: number;
}

/** A scope as RFC 6749 section 3.3 allows it, of characters that need no quotes in a header, a list or a shell. */
export const scopePattern = /^[A-Za-z0-9][\w:.-]{0,63}$/;

/** @param scopes of a key; undefined for all */
export function missingScopes(needed: readonly string[], scopes: readonly string[] | undefined): string[] {
  return scopes === undefined ? [] : needed.filter((scope) => !scopes.includes(scope));
}
