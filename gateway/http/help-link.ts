/**
 * Value of the Link header that leads to what the documentation says about an error code (RFC 8288).
 * @param baseUrl where clients see the gateway; empty for a path
 */
export function helpLink(code: string, baseUrl = ''): string {
  return `<${baseUrl}/docs#${code}>; rel="help"`;
}
