import { createServer } from 'node:http';
import express, { type Router } from 'express';
import type { ApiDependencies } from '../../gateway/admin/api/api-dependencies.ts';
import { auditApi } from '../../gateway/admin/api/audit.ts';
import { bansApi } from '../../gateway/admin/api/bans.ts';
import { plansApi } from '../../gateway/admin/api/plans.ts';
import { renderApiError } from '../../gateway/admin/api/render-api-error.ts';
import { settingsApi } from '../../gateway/admin/api/settings.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';

export async function startConsole() {
  const kit = await startGatewayKit();
  const { redis } = kit;
  const now = Date.now;
  const api: ApiDependencies = {
    read: (use) => use({ redis, now, audit: () => Promise.reject(new Error('read only')) }),
    change: async (req, use) => ({
      result: await use({
        redis,
        now,
        audit: createAuditLog({ redis, who: String(req.get('x-who')) }),
        waitUntilDurable: async () => {},
      }),
      warnings: [],
    }),
  };
  const app = express();
  const router: Router = express.Router();
  router.use(express.json());
  for (const make of [plansApi, bansApi, auditApi, settingsApi]) router.use(make(api));
  router.use(renderApiError({ logUnexpected: (error) => console.error(error) }));
  app.use('/api', router);
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return {
    kit,
    async signIn({ name = 'Ada' }: { name?: string; role?: string } = {}) {
      return {
        async send(method: string, path: string, body?: unknown) {
          const response = await fetch(origin + path, {
            method,
            headers: {
              'x-who': name,
              ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          });
          return {
            status: response.status,
            headers: response.headers,
            body: (await response.json()) as unknown,
          };
        },
      };
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await kit[Symbol.asyncDispose]();
    },
  };
}
