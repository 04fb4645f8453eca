import { send } from '../http/http.ts';
import type { Service } from '../kits/service.ts';

/** State of each upstream according to the gateway, by URL. */
export async function upstreamStates(gateway: Service): Promise<Record<string, string>> {
  const { json } = await send(`${gateway.adminUrl}/readyz`);
  return (json as { upstreams: Record<string, string> }).upstreams;
}

/** Metric of an upstream: 1 if it is up, undefined if it has no metric. */
export async function upstreamUp(gateway: Service, url: string): Promise<number | undefined> {
  const { text } = await send(`${gateway.adminUrl}/metrics`);
  const [, value] = text.split(`gateway_upstream_up{service="pets-service",upstream="${url}"} `);
  return value === undefined ? undefined : Number.parseInt(value, 10);
}

/** Log messages about upstreams in a gateway's output. */
export function upstreamLogMessages(output: string): string[] {
  return Array.from(output.matchAll(/"msg":"(upstream [^"]+)"/g), ([, message = '']) => message);
}
