import { ResponseHeaders } from '../../../gateway/http/response-headers.ts';
import { addClientHeaders } from '../../../gateway/upstream/forwarded-headers.ts';

/** Those of the upstream's headers that are passed on, by name. */
export function clientResponseHeaders(headers: Record<string, string | string[] | undefined>) {
  const passed = new ResponseHeaders();
  addClientHeaders(passed, headers);
  const raw = passed.toRaw();
  return Object.fromEntries(
    Array.from({ length: raw.length / 2 }, (_, index) => [raw[2 * index], raw[2 * index + 1]]),
  );
}
