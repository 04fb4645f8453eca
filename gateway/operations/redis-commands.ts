/** Who logs in to Redis. */
export type RedisUser = 'gateway' | 'ops' | 'reader';

const words = (text: string): string[] => text.split(' ');

/** Sent by the client when it connects, and to check the settings of Redis. HELLO and AUTH need no permission. */
const connecting = ['client|setinfo', 'client|setname', 'info', 'select'];

/** Sent by both, and by the scripts that both run. A script needs the permissions of what it calls. */
const shared = [
  ...connecting,
  ...words('del eval evalsha exists expireat get hdel hget hgetall hlen hmget hset mget pexpire ping pttl'),
  ...words('sadd set sismember smembers time type xadd zadd zcard zcount zrangebyscore zrem'),
  ...words('zremrangebyscore'),
];

/** Sent by what operators do: by the gateway for its console, and by the ops command, also as the gateway's user. */
const operators = [
  ...words('dbsize hscan persist scan srem wait waitaof xrange xrevrange zrange zrank zscore zunion'),
];

/**
 * The Redis commands of the gateway and of the ops command, on keys that begin with `gw:`. A test runs both under users
 * that may do no more, and checks that each command is sent.
 */
export const commandsOf: Readonly<Record<RedisUser, readonly string[]>> = {
  gateway: [...shared, ...operators, ...words('exec expire hincrby incr incrby multi zincrby pfadd pfcount')],
  ops: [...shared, ...operators, 'xread'],
  // Scripts may be sent, too: what they call is held to these commands as well.
  reader: [
    ...connecting,
    ...words('dbsize eval evalsha exists get hget hgetall hlen hmget lrange mget ping pttl scan smembers'),
    ...words('time type xrange xread xrevrange zcard zcount zrange zrangebyscore zrank zscore zunion'),
  ],
};

/** Sent by BullMQ (events/event-queue.ts), by its scripts too, and by what keeps the log of webhooks; most only when something fails. */
export const queueCommands: readonly string[] = [
  ...words('bzpopmin del eval evalsha exec exists expire get hdel hexists hget hgetall hincrby hmget hmset'),
  ...words(
    'hset incr llen lpos lpush lrange lrem ltrim multi persist pexpire pttl rpoplpush rpush sadd scard',
  ),
  ...words('set smembers srem xadd xtrim zadd zcard zpopmin zrange zrangebyscore zrem zremrangebyrank'),
  ...words('zremrangebyscore zrevrange zrevrangebyscore zscore'),
];

/** Writes the link of a reader. Unlike SET, it cannot leave a key without an expiry. */
export const readerLinkCommand = 'psetex';

/** The commands for the audit log. `type` is for other keys, too. */
export const auditCommands: readonly string[] = ['type', 'xadd', 'xrange', 'xread', 'xrevrange'];

/**
 * In a Redis Cluster, in addition: the map of its slots, its health, keys that move to another node, and READONLY, which
 * ioredis sends on the connection that it reads the map from.
 */
export const clusterCommands: readonly string[] = ['asking', 'cluster|info', 'cluster|slots', 'readonly'];

/** On Sentinels, for both users: where the master is, which Sentinels there are, and to learn of a failover. */
export const sentinelCommands: readonly string[] = [
  ...words('client|setinfo sentinel|get-master-addr-by-name sentinel|sentinels subscribe'),
];
