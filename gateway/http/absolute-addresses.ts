type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Makes the paths in Link and Location absolute: many clients cannot follow a relative Link. Other headers, and addresses
 * that are not paths of this server, stay as they are.
 * @param headers with names in lower case
 * @param baseUrl called only if one of the two headers is present
 */
export function absoluteAddresses(headers: Headers, baseUrl: () => string): Headers {
  const { link, location } = headers;
  if (link === undefined && location === undefined) return headers;
  const base = baseUrl();
  if (base === '') return headers;
  const changed: Record<string, string | string[] | undefined> = { ...headers };
  if (link !== undefined) changed['link'] = mapValue(link, (value) => absoluteLinks(value, base));
  if (location !== undefined) changed['location'] = mapValue(location, (value) => absolutePath(value, base));
  return changed;
}

function mapValue(value: string | string[], map: (value: string) => string): string | string[] {
  return Array.isArray(value) ? value.map(map) : map(value);
}

/** A quoted parameter, whose content is not a target, or a target (RFC 8288 section 3). Each character is read once. */
const quotedOrTarget = /"(?:[^"\\]|\\.)*"?|<([^<>]*)>/g;

function absoluteLinks(value: string, base: string): string {
  return value.replaceAll(quotedOrTarget, (found: string, target: string | undefined) =>
    target === undefined ? found : `<${absolutePath(target, base)}>`,
  );
}

/** `//host/path` is no path of this server (RFC 3986 section 4.2). */
function absolutePath(reference: string, base: string): string {
  return reference.startsWith('/') && !reference.startsWith('//') ? base + reference : reference;
}
