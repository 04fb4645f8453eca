/** The key holds another type of value: somebody edited it by hand. */
export function isWrongType(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('WRONGTYPE');
}

/** What the refused command names, one of which is of the wrong type: Redis does not say which. Else nothing. */
export function keysOfWrongType(error: unknown): string[] {
  // ioredis adds the command to each error that Redis answers with.
  if (!isWrongType(error) || !('command' in error)) return [];
  const { command } = error;
  if (typeof command !== 'object' || command === null || !('args' in command)) return [];
  return Array.isArray(command.args) ? command.args.filter((arg) => typeof arg === 'string') : [];
}

/**
 * Answers that mean "this server can't serve now" rather than "this command is wrong". The last one is what NOPERM becomes
 * where a script is refused a command.
 */
const cannotServe =
  /^(READONLY|LOADING|BUSY|UNKILLABLE|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|OOM|NOAUTH|NOPERM|WRONGPASS)\b|can't run this command/;

/** Answers of a Redis Cluster about one slot that is on its way to another node; all others can be used. */
const slotMoves = /^(MOVED|ASK|TRYAGAIN)\b|^Too many Cluster redirections/;

/** Whether a Redis Cluster is moving what a command is about, so that it was not carried out. */
export function isSlotMove(error: unknown): boolean {
  return error instanceof Error && slotMoves.test(error.message);
}

/** Whether the server answered, and could serve, but refused this command. */
export function isCommandError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    error.name === 'ReplyError' &&
    !cannotServe.test(error.message) &&
    !isSlotMove(error)
  );
}

/** Waits for commands that may meet a value of the wrong type, and leaves that value to whoever reads it. */
export async function settleUnlessUnreachable(commands: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(commands);
  for (const result of results) {
    if (result.status === 'rejected' && !isWrongType(result.reason)) throw result.reason;
  }
}

/** Errors of ioredis for commands that were under way when the connection ended, or came when there was none. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'MaxRetriesPerRequestError' ||
    /^(Connection is closed|Stream isn't writeable|Socket timeout)/.test(error.message)
  );
}
