import { errorCodes } from '../errors.ts';

const links = new Map(errorCodes.map((code) => [code, linkTo(code)]));

/**
 * Value of the Link header that leads to what the documentation says about an error code (RFC 8288). Built once for each
 * of the gateway's own codes: refusals are its most frequent responses.
 */
export function helpLink(code: string): string {
  return links.get(code) ?? linkTo(code);
}

function linkTo(code: string): string {
  return `</docs#${code}>; rel="help"`;
}
