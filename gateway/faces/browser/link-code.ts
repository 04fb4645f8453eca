/**
 * Takes the code out of the address: it must not stay there, nor in the history.
 * @returns what follows `#code=`; undefined if nothing does
 */
export function takeLinkCode(): string | undefined {
  const [, code] = /^#code=(.*)$/.exec(location.hash) ?? [];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
