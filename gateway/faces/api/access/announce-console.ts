import { hostname } from 'node:os';
import { announceConsole, withdrawConsole } from '../../../control/access/console-addresses.ts';
import type { ApiDependencies } from '../api-dependencies.ts';

export interface Announcement {
  /** Takes the address off the list. Never rejects. */
  close(): Promise<void>;
}

const intervalMs = 10_000;
/** Soon after the start, and after an outage of Redis. */
const retryMs = 500;

/**
 * Keeps the address of this gateway's console in Redis, where `ops console` finds it: the command cannot know the port
 * that the system chose, nor the settings of a gateway on another machine.
 */
export function keepConsoleAnnounced({ read }: Pick<ApiDependencies, 'read'>, origin: string): Announcement {
  const address = { origin, machine: hostname() };
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function announce(): Promise<void> {
    const announced = await read((session) => announceConsole(session, address)).then(
      () => true,
      () => false,
    );
    if (!closed) timer = setTimeout(() => void announce(), announced ? intervalMs : retryMs).unref();
  }

  void announce();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await read(({ redis }) => withdrawConsole(redis, address)).catch(() => {});
    },
  };
}
