import { send } from '../http/http.ts';
import type { Service } from '../kits/service.ts';

/** What a gateway knows of the instances behind it, by their addresses. */
export async function upstreamStates(gateway: Service): Promise<Record<string, string>> {
  const { json } = await send(`${gateway.adminUrl}/readyz`);
  return (json as { upstreams: Record<string, string> }).upstreams;
}

/** What the metrics say of one: 1 for ready, undefined where it is not in them. */
export async function upstreamUp(gateway: Service, url: string): Promise<number | undefined> {
  const { text } = await send(`${gateway.adminUrl}/metrics`);
  const [, value] = text.split(`gateway_upstream_up{upstream="${url}"} `);
  return value === undefined ? undefined : Number.parseInt(value, 10);
}

/** What a gateway's output says of changes of an instance's state. */
export function upstreamLines(output: string): string[] {
  return Array.from(output.matchAll(/"msg":"(upstream [^"]+)"/g), ([, message = '']) => message);
}
