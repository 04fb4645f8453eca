import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRedisGate, RedisUnavailable } from '../../../../../gateway/platform/redis/redis-gate.ts';
import { stepOf } from '../../../../support/checks/steps.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const step = fc.oneof(
  stepOf(6, 'send'),
  stepOf(6, 'receive a reply'),
  stepOf(3, 'wait', { ms: fc.constantFrom(10, 40, 100, 300) }),
  stepOf(1, 'check'),
  stepOf(1, 'lose or find the connection'),
);

test('whatever the order of commands, replies and losses, each command has one end, and no late reply is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 50 }), async (scheduler, steps) => {
      let connected = true;
      let connection = 0;
      const changes: boolean[] = [];
      async function replyOf<T>(reply: T): Promise<T> {
        const ownConnection = connection;
        await scheduler.schedule(Promise.resolve());
        if (ownConnection !== connection) throw new Error('Connection is closed.');
        return reply;
      }
      const gate = createRedisGate({
        ping: () => replyOf('PONG'),
        connected: () => connected,
        log: pino({ level: 'silent' }),
        onChange: (open) => changes.push(open),
      });
      const commands: { sent: boolean; replied: boolean; ends: string[] }[] = [];
      let whileShut = 0;
      for (const step of steps) {
        switch (step.does) {
          case 'send': {
            const command = { sent: false, replied: false, ends: [] as string[] };
            commands.push(command);
            const wasOpen = gate.open;
            void gate
              .send(async () => {
                command.sent = true;
                const reply = await replyOf('reply');
                command.replied = true;
                return reply;
              })
              .then(
                () => command.ends.push('reply'),
                (error: unknown) =>
                  command.ends.push(error instanceof RedisUnavailable ? 'unavailable' : 'bug'),
              );
            if (!wasOpen && command.sent) whileShut += 1;
            break;
          }
          case 'receive a reply':
            if (scheduler.count() > 0) await scheduler.waitNext(1);
            break;
          case 'wait':
            await vi.advanceTimersByTimeAsync(step.ms);
            break;
          case 'check':
            void gate.check();
            break;
          case 'lose or find the connection':
            connected = !connected;
            if (!connected) connection += 1;
        }
        // Local decisions begin with the first command that fails, and end once.
        expect(gate.open).toBe(changes.at(-1) ?? false);
      }
      await vi.advanceTimersByTimeAsync(1000);
      await scheduler.waitIdle();
      gate.close();
      expect(whileShut).toBe(0);
      for (const { replied, ends } of commands) {
        expect(ends).toHaveLength(1);
        // It may be executed all the same.
        if (!replied) expect(ends).toEqual(['unavailable']);
        expect(ends).not.toContain('bug');
      }
      for (const [index, open] of changes.entries()) expect(open).toBe(index % 2 === 0);
      // Those under way when it was closed expire, and start no others.
      await vi.advanceTimersByTimeAsync(1000);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 100 },
  );
});
