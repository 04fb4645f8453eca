/** The same kind of error as ioredis makes of a command that fails as a whole, for a part of one that does not. */
export function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

/** The key holds another type of value, because somebody edited it by hand. */
export function isWrongType(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('WRONGTYPE');
}

/** Awaits a reply. @returns something else if the key holds another type of value */
export async function unlessWrongType<T, Other>(reply: Promise<T>, other: Other): Promise<T | Other> {
  try {
    return await reply;
  } catch (error) {
    if (isWrongType(error)) return other;
    throw error;
  }
}

/** Keys of the refused command; Redis does not say which of them has the wrong type. Empty for other errors. */
export function keysOfWrongType(error: unknown): string[] {
  // ioredis adds the command to each error that Redis replies with.
  if (!isWrongType(error) || !('command' in error)) return [];
  const { command } = error;
  if (typeof command !== 'object' || command === null || !('args' in command)) return [];
  const args: unknown[] = Array.isArray(command.args) ? command.args : [];
  // A Redis user may not ask about any other argument.
  return args.filter((arg) => typeof arg === 'string').filter((arg) => arg.startsWith('gw:'));
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

/** Whether the server can serve, but refused this command. */
export function isCommandError(error: unknown): error is Error {
  return isReplyError(error) && !isServerRefusal(error) && !isSlotMove(error);
}

/** Awaits commands that may meet a value of the wrong type. The reader of that value reports it. */
export async function ignoreWrongTypes(commands: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(commands);
  for (const result of results) {
    if (result.status === 'rejected' && !isWrongType(result.reason)) throw result.reason;
  }
}

/** Whether ioredis lost the connection while the command was under way, or had none. */
export function isRedisConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'MaxRetriesPerRequestError' ||
    /^(Connection is closed|Stream isn't writeable|Socket timeout)/.test(error.message)
  );
}
