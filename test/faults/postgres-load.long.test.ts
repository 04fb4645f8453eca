import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startLoadedServices, type LoadedRequest } from '../support/load/database-load.ts';

/** Expects each response to be a success or a 503 with an Error body. */
function expectSuccessOr503(requests: LoadedRequest[]): void {
  for (const { name, response } of requests) {
    if (response.status === (name === undefined ? 200 : 201)) continue;
    expect(response.status, response.text).toBe(503);
    expect(response.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(response.header('Content-Type')).toBe('application/json; charset=utf-8');
    // A list is always safe to retry, a create only if nothing can have been stored.
    expect(['1', name === undefined ? '1' : undefined]).toContain(response.header('Retry-After'));
  }
}

describe('PostgreSQL under a steady load of creates and lists', { tags: ['postgresql'] }, () => {
  test.each([
    { outage: 'killed and restarted', downMs: 3000, begin: 'kill', end: 'restart' },
    // Longer than every timeout of the pets service.
    { outage: 'paused', downMs: 12_000, begin: 'pause', end: 'resume' },
  ] as const)(
    '$outage: requests get 503, recovery needs no restart of a service, and every pet created with 201 is stored',
    { timeout: 120_000 },
    async ({ downMs, begin, end }) => {
      await using services = await startLoadedServices();
      const { postgres, load } = services;
      await sleep(1000);
      await postgres[begin]();
      const downAt = performance.now();
      await sleep(downMs);
      const upAt = performance.now();
      await postgres[end]();
      await load.waitUntilServed();
      await sleep(1000);
      const requests = await load.stop();

      expectSuccessOr503(requests);
      const duringOutage = requests.filter(({ sentAt, ms }) => sentAt > downAt && sentAt + ms < upAt);
      expect(duringOutage.length).toBeGreaterThan(20);
      for (const { response } of duringOutage) expect(response.status).toBe(503);
      for (const { response } of requests.slice(-20)) expect(response.status).toBeLessThan(300);
      await services.expectConsistentDatabase(requests);
    },
  );
});
