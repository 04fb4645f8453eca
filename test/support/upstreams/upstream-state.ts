import { send } from '../http/http.ts';
import { metricOf, type Service } from '../kits/service.ts';

/** State of each upstream according to the gateway, by URL. */
export async function upstreamStates(gateway: Service): Promise<Record<string, string>> {
  const { json } = await send(`${gateway.adminUrl}/readyz`);
  return (json as { upstreams: Record<string, string> }).upstreams;
}

/** Metric of an upstream: 1 if it is up, undefined if it has no metric. */
export const upstreamUp = (gateway: Service, url: string) =>
  metricOf(gateway, `gateway_upstream_up{service="pets-service",upstream="${url}"}`);

/** Log messages about upstreams in a gateway's output. */
export function upstreamLogMessages(output: string): string[] {
  return Array.from(output.matchAll(/"msg":"(upstream [^"]+)"/g), ([, message = '']) => message);
}
