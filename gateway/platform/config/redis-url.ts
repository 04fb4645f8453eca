/** A server, such as redis.internal:6379. */
interface RedisHost {
  host: string;
  port: number;
}

/** Address of Redis, however it is deployed. */
export type RedisAddress = NonNullable<ReturnType<typeof parseRedisUrl>>;

/** Forms of REDIS_URL, for messages and help. */
export const redisUrlExamples = [
  'redis://127.0.0.1:6379',
  'redis+sentinel://host1:26379,host2:26379/mymaster',
  'redis+cluster://host1:6379,host2:6379',
];

const pattern =
  /^redis(?<tls>s?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<username>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^@/?]+)(?:\/(?<path>[\w./-]*))?(?:\?(?<query>.*))?$/;
const host = /^(?:(?<name>[\w.-]+)|\[(?<ipv6>[\da-f:.]+)\])(?::(?<port>[1-9]\d{0,4}))?$/i;

const forms = {
  single: { port: 6379, path: /^(?<database>\d{0,3})$/, options: [] },
  sentinel: {
    port: 26_379,
    path: /^(?<masterName>[\w.-]+)(?:\/(?<database>\d{1,3}))?$/,
    options: ['sentinelUsername', 'sentinelPassword'],
  },
  cluster: { port: 6379, path: /^$/, options: [] },
} satisfies Record<string, { port: number; path: RegExp; options: string[] }>;

/** @returns undefined for a text that has none of the forms of {@link redisUrlExamples} */
export function parseRedisUrl(text: string) {
  const groups = pattern.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { tls, username, password, hosts = '', path = '', query } = groups;
  const kind: keyof typeof forms =
    groups['kind'] === 'sentinel' || groups['kind'] === 'cluster' ? groups['kind'] : 'single';
  const form = forms[kind];
  const named = form.path.exec(path);
  const options = new URLSearchParams(query);
  const parsed = hosts.split(',').flatMap((each) => parseHost(each, form.port) ?? []);
  if (named === null || [...options.keys()].some((name) => !form.options.some((known) => known === name)))
    return undefined;
  if (parsed.length !== hosts.split(',').length || (kind === 'single' && parsed.length > 1)) return undefined;
  try {
    return {
      kind,
      /** The server; Sentinels, which name the master; or some nodes of a cluster, which name the others. */
      hosts: parsed,
      username: username ? decodeURIComponent(username) : undefined,
      password: password === undefined ? undefined : decodeURIComponent(password),
      tls: tls === 's',
      /** A cluster has database 0 only. */
      database: Number(named.groups?.['database'] ?? 0),
      /** For Sentinels, as the two that follow. */
      masterName: named.groups?.['masterName'] ?? '',
      sentinelUsername: options.get('sentinelUsername') ?? undefined,
      sentinelPassword: options.get('sentinelPassword') ?? undefined,
    };
  } catch {
    // An escape such as %zz.
    return undefined;
  }
}

function parseHost(text: string, defaultPort: number): RedisHost | undefined {
  const { name, ipv6, port = defaultPort } = host.exec(text)?.groups ?? {};
  const found = name ?? ipv6;
  return found === undefined || Number(port) > 65_535 ? undefined : { host: found, port: Number(port) };
}

/** Describes the address for people, without a password. */
export function describeRedis({ kind, hosts, masterName }: RedisAddress): string {
  const list = hosts
    .map(({ host: name, port }) => `${name.includes(':') ? `[${name}]` : name}:${port}`)
    .join(', ');
  switch (kind) {
    case 'single':
      return `Redis at ${list}`;
    case 'sentinel':
      return `Redis through Sentinels at ${list} (${masterName})`;
    case 'cluster':
      return `Redis Cluster at ${list}`;
  }
}
