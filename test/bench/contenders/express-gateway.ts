import { existsSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/*
 * express-gateway 1.16, whose last version is years old: key-auth, rate-limit and proxy, with its keys in Redis. It
 * brings 700 packages along, so it is no dependency of this project: it takes part where EXPRESS_GATEWAY names a
 * folder that it was installed in.
 */

const folder = process.env['EXPRESS_GATEWAY'];

/** Why it is left out, if it is. */
export const missing =
  folder !== undefined && existsSync(join(folder, 'node_modules/express-gateway'))
    ? undefined
    : 'npm install --prefix FOLDER express-gateway, then EXPRESS_GATEWAY=FOLDER npm run bench';

interface Options {
  directory: string;
  port: number;
  adminPort: number;
  upstreamPort: number;
  redisPort: number;
}

/** @returns arguments for node */
export async function configure({ directory, port, adminPort, ...options }: Options): Promise<string[]> {
  const requireThere = createRequire(join(resolve(folder ?? ''), 'package.json'));
  const config = join(directory, 'express-gateway');
  await mkdir(config, { recursive: true });
  const lib = join(requireThere.resolve('express-gateway'), '..');
  await cp(join(lib, 'config/models'), join(config, 'models'), { recursive: true });
  await writeFile(
    join(config, 'system.config.yml'),
    `
db: { redis: { host: 127.0.0.1, port: ${options.redisPort}, namespace: EG } }
crypto: { cipherKey: bench, algorithm: aes256, saltRounds: 10 }
session: { secret: bench, resave: false, saveUninitialized: false }
accessTokens: { timeToExpiry: 7200000 }
refreshTokens: { timeToExpiry: 7200000 }
authorizationCodes: { timeToExpiry: 300000 }
`,
  );
  await writeFile(
    join(config, 'gateway.config.yml'),
    `
http: { port: ${port} }
admin: { port: ${adminPort}, host: 127.0.0.1 }
apiEndpoints: { pets: { host: '*', paths: '/v1/*' } }
serviceEndpoints: { pets: { url: 'http://127.0.0.1:${options.upstreamPort}' } }
policies: [key-auth, proxy, rate-limit]
pipelines:
  pets:
    apiEndpoints: [pets]
    policies:
      - key-auth: [{ action: { apiKeyHeader: Authorization, apiKeyHeaderScheme: Bearer } }]
      - rate-limit: [{ action: { max: 1000000000, windowMs: 60000, rateLimitBy: '\${req.user.id}' } }]
      - proxy: [{ action: { serviceEndpoint: pets } }]
`,
  );
  const start = join(config, 'start.cjs');
  await writeFile(
    start,
    `require(${JSON.stringify(requireThere.resolve('express-gateway'))})().load(${JSON.stringify(config)}).run();`,
  );
  return [start];
}

/** Its keys have a form of their own. @returns one that is valid */
export async function issueKey(adminPort: number): Promise<string> {
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`express-gateway answers ${answer.status} to ${path}`);
    return answer.json();
  };
  await post('/users', { username: 'bench', firstname: 'b', lastname: 'b' });
  const credential = await post('/credentials', {
    consumerId: 'bench',
    type: 'key-auth',
    credential: { scopes: [] },
  });
  const { keyId, keySecret } = credential as { keyId: string; keySecret: string };
  return `${keyId}:${keySecret}`;
}
