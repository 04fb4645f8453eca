import { hostname } from 'node:os';
import { announceConsole, withdrawConsole } from '../../operations/console-addresses.ts';
import type { ApiDependencies } from '../api/api-dependencies.ts';

export interface Announcement {
  /** Takes the address off the list. Never rejects. */
  close(): Promise<void>;
}

const intervalMs = 10_000;

/**
 * Keeps the address of this gateway's console in Redis, where `ops console` finds it: the command cannot know the port
 * that the system chose, nor the settings of a gateway on another machine.
 */
export function keepConsoleAnnounced({ read }: Pick<ApiDependencies, 'read'>, origin: string): Announcement {
  const address = { origin, machine: hostname() };
  // While Redis is unavailable, no command needs the address.
  const announce = () => void read((session) => announceConsole(session, address)).catch(() => {});
  announce();
  const timer = setInterval(announce, intervalMs);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await read(({ redis }) => withdrawConsole(redis, address)).catch(() => {});
    },
  };
}
