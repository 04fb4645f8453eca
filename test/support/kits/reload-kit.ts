import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { send } from '../http/http.ts';
import { startUpstream } from '../upstreams/upstream.ts';
import { startServicesKit } from './services-kit.ts';
import { together } from './together.ts';

const folder = fileURLToPath(new URL('../../../gateway/upstream/', import.meta.url));

export const descriptions = { pets: join(folder, 'pets.yaml'), orders: join(folder, 'example/orders.yaml') };

/** Lines of the log that tell how SIGHUP has ended. */
const outcome = /^.*"msg":"(?:workers are replaced|files are not reloaded|SIGHUP changes nothing).*$/gm;

type ServicesFile = Record<string, { description: string; urls: string[]; [field: string]: unknown }>;

/** A gateway in front of a stand-in for the pets service, whose services file the test changes. */
export const startReloadKit = (env: Record<string, string> = {}) =>
  together(async (stack) => {
    const pets = stack.use(await startUpstream());
    /** The pets service alone, with other instances if they are given. */
    const onlyPets = (urls = [pets.url], fields: Record<string, unknown> = {}): ServicesFile => ({
      'pets-service': { description: descriptions.pets, urls, ...fields },
    });
    const kit = stack.use(await startServicesKit(() => Promise.resolve({ services: onlyPets() }), env));
    const { gateway, servicesFile } = kit;
    /** Replaces the services file as a whole, as editors and Kubernetes do. */
    async function write(services: ServicesFile | string) {
      const text = typeof services === 'string' ? services : JSON.stringify({ services });
      await writeFile(`${servicesFile}.new`, text);
      await rename(`${servicesFile}.new`, servicesFile);
    }
    /** An API key whose limits no test reaches. */
    const { key } = await kit.issue({ plan: 'enterprise', minute: 10_000_000, day: 10_000_000 });
    return {
      ...kit,
      pets,
      key,
      get: (path: string) => send(`${gateway.url}${path}`, { key }),
      write,
      onlyPets,
      /** The pets service and an orders service. */
      withOrders: (urls: string[], fields: Record<string, unknown> = {}): ServicesFile => ({
        ...onlyPets(),
        orders: { description: descriptions.orders, urls, ...fields },
      }),
      /** Sends SIGHUP, and waits for the outcome in the log. @returns its line */
      async reload() {
        const outcomes = () => gateway.output().match(outcome) ?? [];
        const before = outcomes().length;
        gateway.signal('SIGHUP');
        await expect.poll(() => outcomes().length, { timeout: 120_000 }).toBe(before + 1);
        return outcomes().at(-1) ?? '';
      },
    };
  });
