/**
 * The code of a link, or the code itself.
 * @param text as it was pasted
 * @returns undefined for anything else
 */
export function codeIn(text: string): string | undefined {
  const trimmed = text.trim();
  const [, code = trimmed] = /#code=(.*)$/.exec(trimmed) ?? [];
  return /^[\w-]{22}$/.test(code) ? code : undefined;
}

/**
 * Takes the code out of the address: it must not stay there, nor in the history.
 * @returns what follows `#code=`; undefined if nothing does
 */
export function takeLinkCode(): string | undefined {
  const [, code] = /^#code=(.*)$/.exec(location.hash) ?? [];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

export const hasLinkCode = () => location.hash.startsWith('#code=');
