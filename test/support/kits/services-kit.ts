import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startAnyRedis } from '../stores/redis-server.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { startGateway } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { together } from './together.ts';

/**
 * A gateway on its own Redis with a services file.
 * @param fileOf starts the services on the stack. @returns the content of the file
 */
export const startServicesKit = (
  fileOf: (stack: AsyncDisposableStack, directory: string) => Promise<object>,
  settings: Record<string, string> = {},
) =>
  together(async (stack) => {
    const server = stack.use(await startAnyRedis());
    const { path: directory } = stack.use(await temporaryDirectory());
    const servicesFile = join(directory, 'services.yaml');
    // JSON is YAML, too.
    await writeFile(servicesFile, JSON.stringify(await fileOf(stack, directory)));
    /** The settings that another gateway beside it needs. */
    const env = { REDIS_URL: server.url, DATA_DIR: directory, SERVICES_FILE: servicesFile };
    const gateway = stack.use(await startGateway({ ...env, ...settings }));
    const redis = stack.use(await connectRedis(server.url));
    return { server, redis, directory, servicesFile, env, gateway, ...keyIssuer(redis) };
  });
