/**
 * A Redis key that only the gateway writes holds what the gateway does not write: somebody edited it by hand. Nothing repairs it;
 * whoever needs it is told which key it is.
 */
export class UnexpectedValue extends Error {
  override name = 'UnexpectedValue';

  /** @param issue what is wrong and what to do, as the rest of a sentence that begins with the key */
  constructor(key: string, issue: string) {
    super(`${key} ${issue}`);
  }
}

const wrongType = 'holds a value of another type than the gateway writes: restore or delete it';
const maxNamed = 10;

/**
 * Names the keys that a command or a script was about: Redis does not say which of them has the wrong type, nor those that a script
 * derives from the hash tag of a customer.
 */
export function wrongTypeOf(keys: readonly string[]): UnexpectedValue {
  const named = keys.map((key) => {
    const [hashTag] = /\{[^{}]+\}/.exec(key) ?? [];
    return hashTag === undefined || keys.length === 1 ? key : `gw:*${hashTag}*`;
  });
  return new UnexpectedValue([...new Set(named)].slice(0, maxNamed).join(' or '), wrongType);
}

/** @returns an error that names the key if Redis has replied WRONGTYPE; otherwise the error itself */
export function nameWrongType(error: unknown): unknown {
  // In a script, Redis before version 7 has other words before it. ioredis adds the command to each error that Redis replies with.
  if (!isReplyError(error) || !error.message.includes('WRONGTYPE') || !('command' in error)) return error;
  const { command } = error;
  if (typeof command !== 'object' || command === null || !('args' in command)) return error;
  const args: unknown[] = Array.isArray(command.args) ? command.args : [];
  return wrongTypeOf(args.filter((arg) => typeof arg === 'string').filter((arg) => arg.startsWith('gw:')));
}

/** Replies that mean "this server can't serve now". The last one is NOPERM for a command inside a script. */
const cannotServe =
  /^(READONLY|LOADING|BUSY|UNKILLABLE|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|OOM|NOAUTH|NOPERM|WRONGPASS)\b|can't run this command/;

/** Replies of a Redis Cluster about one slot that is moving to another node; all other slots work. */
const slotMoves = /^(MOVED|ASK|TRYAGAIN)\b|^Too many Cluster redirections/;

/** Whether a command was not executed because a Redis Cluster is moving its slot. */
export function isSlotMove(error: unknown): boolean {
  return error instanceof Error && slotMoves.test(error.message);
}

/** Whether Redis does not know a script by its hash: it has restarted, or its script cache was emptied. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** Whether Redis has replied that it did not execute a command. */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Whether the server can't serve now, or not this user. */
export function isServerRefusal(error: unknown): error is Error {
  return isReplyError(error) && cannotServe.test(error.message);
}

/** Whether the server can serve, but refused this command, or holds what the gateway has not written. */
export function isCommandError(error: unknown): error is Error {
  if (error instanceof UnexpectedValue) return true;
  return isReplyError(error) && !isServerRefusal(error) && !isSlotMove(error);
}

/** Whether ioredis lost the connection while the command was under way, or had none. */
export function isRedisConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'MaxRetriesPerRequestError' ||
    /^(Connection is closed|Stream isn't writeable|Socket timeout)/.test(error.message)
  );
}
