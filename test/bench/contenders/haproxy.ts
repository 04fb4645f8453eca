import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Settings of all HAProxies of the benchmarks. Settings of `defaults` may follow. */
export const haproxySettings = `
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s`;

/** HAProxy counts requests per key and minute in its own memory, without Redis. */
export async function stickTable(directory: string, port: number, upstreamPort: number): Promise<string[]> {
  const file = join(directory, `haproxy-${port}.cfg`);
  await writeFile(
    file,
    `${haproxySettings}
  http-reuse always
frontend keys
  bind 127.0.0.1:${port} backlog 4096
  stick-table type string len 64 size 100k expire 60s store http_req_rate(60s)
  http-request track-sc0 req.hdr(authorization)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000000 }
  default_backend pets
backend pets
  server pets 127.0.0.1:${upstreamPort} pool-max-conn 256
`,
  );
  return ['-f', file];
}
