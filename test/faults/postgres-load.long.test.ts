import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startLoadedServices, type LoadedRequest } from '../support/load/database-load.ts';

/** Fails unless each request was served, or refused with 503 as an Error. */
function expectHonestResponses(requests: LoadedRequest[]): void {
  for (const { name, response } of requests) {
    if (response.status === (name === undefined ? 200 : 201)) continue;
    expect(response.status, response.text).toBe(503);
    expect(response.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(response.header('Content-Type')).toBe('application/json; charset=utf-8');
    // A list can always be repeated; a create where nothing can have been stored.
    expect(['1', name === undefined ? '1' : undefined]).toContain(response.header('Retry-After'));
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

      expectHonestResponses(requests);
      const meanwhile = requests.filter(({ sentAt, ms }) => sentAt > leftAt && sentAt + ms < comesAt);
      expect(meanwhile.length).toBeGreaterThan(20);
      for (const { response } of meanwhile) expect(response.status).toBe(503);
      for (const { response } of requests.slice(-20)) expect(response.status).toBeLessThan(300);
      await services.expectNothingMissing(requests);
    },
  );
});
