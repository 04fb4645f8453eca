import { currentKey } from './api-key.ts';
import { element } from './elements.ts';
import { formatJson } from './format-json.ts';

/**
 * Sends a request with the tab's key to this origin.
 * @param path with query
 * @returns the response, or a text that says why the request could not be sent
 */
export async function apiRequest(
  path: string,
  { headers = {}, ...init }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const key = currentKey();
  try {
    return await fetch(path, {
      ...init,
      headers: { ...headers, ...(key === '' ? {} : { Authorization: `Bearer ${key}` }) },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
  } catch (error) {
    return `The request could not be sent: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

/**
 * Link to what the guide says about an error; nothing if the body is no Error.
 * @param text body of the response
 */
export function errorLink(text: string) {
  const [, code] = /"code": *"([a-z_]+)"/.exec(text) ?? [];
  return code === undefined ? '' : element('a', { href: `/docs#${code}` }, `What to do about ${code}`);
}

/** What a page shows of a response: its status, and its body and headers. */
export async function describeResponse(response: Response) {
  const body = await response.text();
  const headers = Array.from(response.headers, ([name, value]) => `${name}: ${value}\n`).join('');
  return {
    status: [
      element('strong', {}, `${response.status} ${response.statusText}`),
      ...(response.ok ? [] : [' ', errorLink(body)]),
    ],
    details: [
      block('Body of the response', formatJson(body), { 'data-body': '' }),
      element(
        'details',
        {},
        element('summary', {}, 'Headers of the response'),
        block('Headers of the response', headers),
      ),
    ],
  };
}

const block = (label: string, text: string, attributes: Record<string, string> = {}) =>
  element('pre', { tabindex: '0', 'aria-label': label, ...attributes }, element('code', {}, text));
