import { ResponseHeaders } from '../../../gateway/platform/http/response.ts';
import { addClientHeaders } from '../../../gateway/upstream/headers.ts';

/** The headers of an upstream response that the gateway forwards, by name. */
export function clientResponseHeaders(headers: Record<string, string | string[] | undefined>) {
  const forwarded = new ResponseHeaders();
  addClientHeaders(forwarded, headers);
  const raw = forwarded.toRaw();
  return Object.fromEntries(
    Array.from({ length: raw.length / 2 }, (_, index) => [raw[2 * index], raw[2 * index + 1]]),
  );
}
