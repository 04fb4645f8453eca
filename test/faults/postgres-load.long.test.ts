import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startLoadedServices, type LoadedRequest } from '../support/load/database-load.ts';

/** Fails unless each request was served, or refused with 503 as an Error. */
function expectHonestAnswers(requests: LoadedRequest[]): void {
  for (const { name, answer } of requests) {
    if (answer.status === (name === undefined ? 200 : 201)) continue;
    expect(answer.status, answer.text).toBe(503);
    expect(answer.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(answer.header('Content-Type')).toBe('application/json; charset=utf-8');
    // A list can always be repeated; a create where nothing can have been stored.
    expect(['1', name === undefined ? '1' : undefined]).toContain(answer.header('Retry-After'));
  }
}

describe('under a steady load of creates and lists, PostgreSQL is', { tags: ['postgresql'] }, () => {
  test.each([
    { way: 'killed and restarted', awayMs: 3000, leave: 'kill', come: 'restart' },
    // Longer than the pets service waits for anything.
    { way: 'paused', awayMs: 12_000, leave: 'pause', come: 'resume' },
  ] as const)(
    '$way: 503 meanwhile, service afterwards with nothing restarted, and no pet answered with 201 is missing',
    { timeout: 90_000 },
    async ({ awayMs, leave, come }) => {
      await using services = await startLoadedServices();
      const { postgres, load } = services;
      await sleep(1000);
      await postgres[leave]();
      const leftAt = performance.now();
      await sleep(awayMs);
      const comesAt = performance.now();
      await postgres[come]();
      await load.untilServed();
      await sleep(1000);
      const requests = await load.stop();

      expectHonestAnswers(requests);
      const meanwhile = requests.filter(({ sentAt, ms }) => sentAt > leftAt && sentAt + ms < comesAt);
      expect(meanwhile.length).toBeGreaterThan(20);
      for (const { answer } of meanwhile) expect(answer.status).toBe(503);
      for (const { answer } of requests.slice(-20)) expect(answer.status).toBeLessThan(300);
      await services.expectNothingMissing(requests);
    },
  );
});
