import { networkInterfaces } from 'node:os';
import { hasApiTools } from '../contract/tools/tools.ts';
import { hasMountNamespaces } from './containers/container.ts';
import { hasKustomize } from './containers/kubernetes.ts';
import { chromiumPath, fakeTimeLibrary, isInstalled, oldNode, pythonPath } from './programs.ts';
import { findPostgres } from './stores/postgres-server.ts';
import { hasRedisServer } from './stores/redis-server.ts';

/** A program or feature that not every machine has. Tests that need it have its name as a tag. */
export interface Requirement {
  name: string;
  description: string;
  /** Whether the tests are skipped: Vitest applies the options of a tag to all tests that have it. */
  skip: boolean;
}

function hasIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.some(({ address }) => address === '::1');
}

const requirement = (name: string, met: boolean, description: string): Requirement => ({
  name,
  description,
  skip: !met,
});

export const requirements: readonly Requirement[] = [
  requirement('redis-server', hasRedisServer, 'redis-server on the PATH (Debian: redis-server)'),
  requirement(
    'postgresql',
    findPostgres() !== undefined,
    'PostgreSQL in /usr/lib/postgresql (Debian: postgresql)',
  ),
  requirement('slowhttptest', isInstalled('slowhttptest', '-h'), 'slowhttptest (Debian: slowhttptest)'),
  requirement(
    'docker-compose',
    isInstalled('docker-compose', 'version'),
    'docker-compose (Debian: docker-compose)',
  ),
  requirement('faketime', fakeTimeLibrary !== undefined, 'faketime (Debian: faketime)'),
  requirement('nginx', isInstalled('nginx', '-v'), 'nginx (Debian: nginx-light)'),
  requirement('haproxy', isInstalled('haproxy', '-v'), 'haproxy (Debian: haproxy)'),
  requirement('pgbouncer', isInstalled('pgbouncer', '--version'), 'PgBouncer (Debian: pgbouncer)'),
  requirement(
    'prometheus',
    isInstalled('promtool', '--version') && isInstalled('prometheus', '--version'),
    'prometheus and promtool (Debian: prometheus)',
  ),
  requirement('curl', isInstalled('curl', '--version'), 'curl (Debian: curl)'),
  requirement('openssl', isInstalled('openssl', 'version'), 'openssl (Debian: openssl)'),
  requirement('chromium', chromiumPath !== undefined, 'chromium (Debian: chromium-headless-shell)'),
  requirement(
    'python-requests',
    pythonPath !== undefined,
    'Python with its package requests (Debian: python3-requests)',
  ),
  requirement('script', isInstalled('script', '--version'), 'script (Debian: bsdutils)'),
  requirement('old-node', oldNode !== undefined, 'a Node older than 24 on the PATH'),
  requirement(
    'api-tools',
    hasApiTools,
    'the tools of test/contract/tools (npm ci --prefix test/contract/tools)',
  ),
  requirement('linux', process.platform === 'linux', 'Linux, for /proc and /dev/full'),
  requirement('kubectl', hasKustomize, 'kubectl 1.27 or later (Debian 13: kubernetes-client)'),
  requirement('systemd', isInstalled('systemd-analyze', '--version'), 'systemd-analyze (Debian: systemd)'),
  requirement('mount-namespaces', hasMountNamespaces, 'root, to mount what a container has'),
  requirement('ipv6', hasIpv6(), 'IPv6 on the loopback interface'),
];
