import { once } from 'node:events';
import { connect } from 'node:net';

export interface MonitoredCommand {
  /** Unix seconds. */
  time: number;
  /** Address of the client, or `lua` for a command inside a script. */
  source: string;
  args: string[];
}

export interface RedisMonitor {
  /** All commands that the server has executed since the start of the monitor. */
  commands: MonitoredCommand[];
  close(): void;
}

const linePattern = /^\+(\d+\.\d+) \[\d+ ([^\]]+)\] (.*)$/;

/**
 * Runs MONITOR on a raw connection. If the server is busy, ioredis mistakes lines that arrive together with the OK for
 * replies to commands.
 */
export async function monitorRedis(port: number): Promise<RedisMonitor> {
  const commands: MonitoredCommand[] = [];
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let rest = '';
  const started = Promise.withResolvers<void>();
  socket.on('data', (chunk) => {
    const lines = (rest + chunk.toString('latin1')).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '+OK') started.resolve();
      const [, time, source = '', quoted = ''] = linePattern.exec(line) ?? [];
      if (time === undefined) continue;
      const args = Array.from(quoted.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, arg = '']) => arg);
      commands.push({ time: Number(time), source, args });
    }
  });
  socket.write('MONITOR\r\n');
  await started.promise;
  return { commands, close: () => socket.destroy() };
}
