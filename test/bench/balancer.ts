import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/http/free-port.ts';
import { haproxySettings } from './contenders/haproxy.ts';
import { cores, startPinned } from './pinned-process.ts';

/** A server behind the balancer, and the port on which it says whether it is ready; undefined for one that is not asked. */
export interface BalancedServer {
  port: number;
  adminPort?: number;
}

/** Time in which the balancer notices that a server is ready or drains. */
export const checkIntervalMs = 100;

/**
 * Starts HAProxy in front of gateways, on the core of the load.
 *
 * @param certificate file with a certificate and its key, to end TLS; undefined without TLS
 * @returns its port
 */
export async function startBalancer(
  directory: string,
  stack: AsyncDisposableStack,
  servers: readonly BalancedServer[],
  certificate?: string,
): Promise<number> {
  const port = await freePort();
  // One late response must not take the only server out: the core that it shares is busy.
  const check = ` inter ${checkIntervalMs}ms fall 2 rise 1`;
  const lines = servers.map(
    ({ port: serverPort, adminPort }, index) =>
      `  server gateway-${index} 127.0.0.1:${serverPort}${adminPort === undefined ? '' : ` check port ${adminPort}${check}`}`,
  );
  const file = join(directory, `balancer-${port}.cfg`);
  await writeFile(
    file,
    `${haproxySettings}
frontend clients
  bind 127.0.0.1:${port} backlog 4096${certificate === undefined ? '' : ` ssl crt ${certificate}`}
  default_backend gateways
backend gateways
  option httpchk GET /readyz
  timeout check 1s
  option redispatch
${lines.join('\n')}
`,
  );
  const process = await startPinned({
    core: cores.support,
    command: 'haproxy',
    args: ['-f', file],
    directory,
    port,
  });
  stack.defer(() => process.stop());
  return port;
}

/** @returns a file with a certificate of 127.0.0.1 and its key */
export async function makeCertificate(directory: string): Promise<string> {
  const file = join(directory, 'certificate.pem');
  const wanted =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench -addext subjectAltName=IP:127.0.0.1';
  await promisify(execFile)('openssl', [...wanted.split(' '), '-keyout', file, '-out', file]);
  return file;
}
