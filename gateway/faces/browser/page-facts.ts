/** What the page itself says, so that it is known before any request. Empty if it does not. */
export const fact = (name: string) =>
  document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

/** Name of what the page is for, such as in titles. */
export const productName = fact('application-name');

/** Prefix of API keys. */
export const keyPrefix = fact('key-prefix');

/** What actions of the audit log concern: the beginnings of their names. */
export const auditGroups = fact('audit-groups').split(' ');

/** Where customers find help. */
export const supportUrl = fact('support-url');

/**
 * Takes the code out of the address: it must not stay there, nor in the history.
 * @returns what follows `#code=`; undefined if nothing does
 */
export function takeLinkCode(): string | undefined {
  const [, code] = /^#code=(.*)$/.exec(location.hash) ?? [];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
