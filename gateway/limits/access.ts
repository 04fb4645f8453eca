/** What a request costs of each window. */
export interface QuotaCost {
  units: number;
  /** What it would cost on trial, if that is something else. */
  trialUnits?: number | undefined;
}

export const costOfOne: QuotaCost = { units: 1 };

/** What an operation asks of a key. */
export interface OperationAccess {
  /** Scopes that the key needs, all of them. */
  scopes: readonly string[];
  cost: QuotaCost;
}

/** A scope as RFC 6749 section 3.3 allows it, of characters that need no quotes in a header, a list or a shell. */
export const scopePattern = /^[A-Za-z0-9][\w:.-]{0,63}$/;

/** @param scopes of a key; undefined for all */
export function missingScopes(needed: readonly string[], scopes: readonly string[] | undefined): string[] {
  return scopes === undefined ? [] : needed.filter((scope) => !scopes.includes(scope));
}
