/** A server, such as redis.internal:6379. */
interface RedisHost {
  host: string;
  port: number;
}

interface Access {
  hosts: RedisHost[];
  username: string | undefined;
  password: string | undefined;
  tls: boolean;
}

/** Address of Redis, however it is deployed. */
export type RedisAddress =
  | (Access & { kind: 'single'; database: number })
  /** `hosts` are Sentinels, which name the master. */
  | (Access & {
      kind: 'sentinel';
      masterName: string;
      database: number;
      sentinelUsername: string | undefined;
      sentinelPassword: string | undefined;
    })
  /** `hosts` are some of the nodes, which name the others. A cluster has database 0 only. */
  | (Access & { kind: 'cluster' });

/** Forms of REDIS_URL, for messages and help. */
export const redisUrlExamples = [
  'redis://127.0.0.1:6379',
  'redis+sentinel://host1:26379,host2:26379/mymaster',
  'redis+cluster://host1:6379,host2:6379',
];

const pattern =
  /^(?<tls>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<access>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/i;

const defaultPorts = { single: 6379, sentinel: 26_379, cluster: 6379 };
const maxDatabase = 999;

/** @returns undefined for a text that has none of the forms of {@link redisUrlExamples} */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const {
    tls,
    kind = 'single',
    access = '',
    hosts = '',
    path = '',
    query = '',
  } = pattern.exec(text)?.groups ?? {};
  if (tls === undefined) return undefined;
  const [username, password] = parseAccess(access) ?? [];
  if (username === undefined) return undefined;
  const options = new URLSearchParams(query);
  const segments = path
    .split('/')
    .slice(1)
    .filter((segment, index) => index > 0 || segment !== '');
  const common = { username: username || undefined, password, tls: tls.toLowerCase() === 'rediss' };

  switch (kind.toLowerCase()) {
    case 'single': {
      const database = parseDatabase(segments[0]);
      const parsed = parseHosts(hosts, defaultPorts.single);
      if (parsed?.length !== 1 || database === undefined || segments.length > 1 || query !== '')
        return undefined;
      return { kind: 'single', hosts: parsed, database, ...common };
    }
    case 'sentinel': {
      const [masterName = '', databaseText] = segments;
      const database = parseDatabase(databaseText);
      const parsed = parseHosts(hosts, defaultPorts.sentinel);
      const known = new Set(['sentinelUsername', 'sentinelPassword']);
      if (parsed === undefined || !/^[\w.-]+$/.test(masterName) || database === undefined) return undefined;
      if (segments.length > 2 || [...options.keys()].some((name) => !known.has(name))) return undefined;
      return {
        kind: 'sentinel',
        hosts: parsed,
        masterName,
        database,
        sentinelUsername: options.get('sentinelUsername') ?? undefined,
        sentinelPassword: options.get('sentinelPassword') ?? undefined,
        ...common,
      };
    }
    default: {
      const parsed = parseHosts(hosts, defaultPorts.cluster);
      if (parsed === undefined || segments.length > 0 || query !== '') return undefined;
      return { kind: 'cluster', hosts: parsed, ...common };
    }
  }
}

/** Describes the address for people, without a password. */
export function describeRedis(address: RedisAddress): string {
  const list = address.hosts
    .map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    .join(', ');
  switch (address.kind) {
    case 'single':
      return `Redis at ${list}`;
    case 'sentinel':
      return `Redis through Sentinels at ${list} (${address.masterName})`;
    case 'cluster':
      return `Redis Cluster at ${list}`;
  }
}

/** Parses `user:password`, `:password` or an empty text, which old clients write. */
function parseAccess(text: string): [username: string, password: string | undefined] | undefined {
  const [user = '', ...rest] = text.split(':');
  try {
    return [decodeURIComponent(user), rest.length === 0 ? undefined : decodeURIComponent(rest.join(':'))];
  } catch {
    return undefined;
  }
}

function parseHosts(text: string, defaultPort: number): RedisHost[] | undefined {
  const hosts: RedisHost[] = [];
  for (const part of text.split(',')) {
    // The URL parser knows no default port for this scheme.
    const parsed = /^[^\s:]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i.test(part)
      ? URL.parse(`redis://${part}`)
      : null;
    if (parsed === null || parsed.hostname === '' || parsed.port === '0') return undefined;
    hosts.push({
      host: parsed.hostname.replace(/^\[|\]$/g, ''),
      port: parsed.port === '' ? defaultPort : Number(parsed.port),
    });
  }
  return hosts;
}

function parseDatabase(text: string | undefined): number | undefined {
  if (text === undefined) return 0;
  return /^\d{1,3}$/.test(text) && Number(text) <= maxDatabase ? Number(text) : undefined;
}
