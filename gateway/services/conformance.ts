import { errorMessage } from '#runtime/error-message.ts';
import { Agent, request, type Dispatcher } from 'undici';
import { z } from 'zod';
import { defaultBasePath } from '../config/config.ts';
import type { ServiceConfig } from '../config/service-config.ts';
import { describeServices, type DescribedServices } from './describe-services.ts';
import { parameterNames, type ApiRoute } from './routes.ts';
import { fieldsOf, resolveReference, textOf } from './service-description.ts';
import { parametersOf, statusesWithoutContent } from './what-passes.ts';

/** One point of the contract of README.md. */
export interface ConformanceCheck {
  name: string;
  /** What is wrong, and what would be right; undefined if the service keeps the contract. */
  problem: string | undefined;
}

/** Tokens that a service has to tell apart. */
export interface TestTokens {
  valid: string;
  ofAnotherAudience: string;
  expired: string;
  /** Signed with a key that is not the gateway's. */
  ofAnotherKey: string;
  unsigned: string;
}

interface ConformanceOptions {
  origin: string;
  readiness: string;
  tokens: TestTokens;
  /** Path with which tokens are tried, if no description has one. */
  path: string;
  /** Undefined: responses are not compared with a description. */
  service: Pick<ServiceConfig, 'name' | 'description'> | undefined;
}

interface Received {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: string;
}

const timeoutMs = 10_000;
const readinessTimeoutMs = 1000;
/** The gateway keeps an idle connection for 5 s. */
const minKeepAliveSeconds = 6;

const errorBody = z.object({ code: z.string(), message: z.string(), status: z.int() });

/** Tries a running instance of a service as the gateway would use it, with GET requests only. */
export async function checkConformance(options: ConformanceOptions): Promise<ConformanceCheck[]> {
  const { origin, readiness, tokens, service } = options;
  const described = service === undefined ? undefined : describeServices([service]);
  const targets = described === undefined ? [] : readTargets(described);
  const paths = targets.length === 0 ? [options.path] : targets.map((target) => target.path);
  const [path = options.path] = paths;
  const dispatcher = new Agent({ connect: { timeout: timeoutMs } });
  const get = (wanted: string, token: string | undefined, limitMs = timeoutMs) =>
    receive(dispatcher, origin + wanted, token, limitMs);
  /** At each path: a service may check tokens in each of its handlers. */
  const refuses = (token: string | undefined) => async () => {
    for (const each of paths) {
      const reason = await get(each, token).then(whyNotRefused);
      if (reason !== undefined) return each === path ? reason : `GET ${each}: ${reason}`;
    }
    return undefined;
  };
  const checks: [name: string, run: () => Promise<string | undefined>][] = [
    [
      `${readiness} says whether it is ready, without a token`,
      () => get(readiness, undefined, readinessTimeoutMs).then(whyNoReadiness),
    ],
    ['refuses a request without a token', refuses(undefined)],
    ['refuses a token of another audience', refuses(tokens.ofAnotherAudience)],
    ['refuses an expired token', refuses(tokens.expired)],
    ['refuses a token of another key', refuses(tokens.ofAnotherKey)],
    ['refuses a token without a signature', refuses(tokens.unsigned)],
    ['accepts a valid token', () => get(path, tokens.valid).then(whyNotAccepted)],
    ['keeps idle connections longer than the gateway', () => get(path, tokens.valid).then(whyNotKept)],
    [
      'responds to an unknown path with a JSON error',
      () => get(`${described?.basePath ?? defaultBasePath}/no-such-path`, tokens.valid).then(whyNoError),
    ],
    ...targets.map(({ path: target, route }): (typeof checks)[number] => [
      `GET ${target} responds as described`,
      () => get(target, tokens.valid).then((received) => whyNotDescribed(received, route)),
    ]),
  ];
  const done: ConformanceCheck[] = [];
  for (const [name, run] of checks) {
    const problem = await run().catch(
      (error: unknown) => `there is no complete response (${errorMessage(error)})`,
    );
    done.push({ name, problem });
  }
  await dispatcher.destroy();
  return done;
}

async function receive(
  dispatcher: Agent,
  url: string,
  token: string | undefined,
  limitMs: number,
): Promise<Received> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(limitMs);
  const { statusCode: status, headers: received, body } = await request(url, { dispatcher, headers, signal });
  return { status, headers: received, body: await body.text() };
}

/** GET operations whose parameters have an example or may be absent. */
function readTargets({
  document,
  serverPath,
  routes,
}: DescribedServices): { path: string; route: ApiRoute }[] {
  return routes.flatMap(({ route }) => {
    if (route.service === undefined || !route.allow.includes('GET')) return [];
    const item = fieldsOf(fieldsOf(document['paths'])[route.pattern.slice(serverPath.length)]);
    const parameters = parametersOf(item, fieldsOf(item['get'])).map((each) =>
      fieldsOf(resolveReference(document, each)),
    );
    let path = route.pattern;
    for (const name of parameterNames(route.pattern)) {
      const { example } = parameters.find((each) => each['in'] === 'path' && each['name'] === name) ?? {};
      const text = typeof example === 'bigint' ? String(example) : textOf(example);
      if (text === '') return [];
      path = path.replace(`{${name}}`, text);
    }
    const isOpen = parameters.some((each) => each['in'] !== 'path' && each['required'] === true);
    return isOpen ? [] : [{ path, route }];
  });
}

function whyNoReadiness({ status }: Received): string | undefined {
  if (status === 200 || status === 503) return undefined;
  return `it responded with ${status}: 200 means ready and 503 not ready`;
}

function whyNotRefused({ status, ...received }: Received): string | undefined {
  if (status !== 401) return `it responded with ${status}: respond with 401`;
  return whyNoErrorBody({ status, ...received });
}

function whyNotAccepted({ status }: Received): string | undefined {
  if (status !== 401 && status !== 403) return undefined;
  return `it responded with ${status}: does it have the gateway's public key, and this audience?`;
}

function whyNotKept({ headers }: Received): string | undefined {
  if (textOf(headers['connection']).toLowerCase() === 'close')
    return 'it closes the connection after a response';
  const [, seconds] = /timeout=(\d+)/.exec(textOf(headers['keep-alive'])) ?? [];
  if (seconds === undefined || Number(seconds) >= minKeepAliveSeconds) return undefined;
  return `it closes an idle connection after ${seconds} s, perhaps just when a request is sent: keep it for more than ${minKeepAliveSeconds} s`;
}

function whyNoError({ status, ...received }: Received): string | undefined {
  if (status < 400 || status > 499) return `it responded with ${status}: respond with 404`;
  return whyNoErrorBody({ status, ...received });
}

function whyNoErrorBody({ status, headers, body }: Received): string | undefined {
  const type = textOf(headers['content-type']);
  if (!/^application\/json *(?:;|$)/i.test(type))
    return `the ${status} has the Content-Type "${type}": an error is application/json`;
  const parsed = errorBody.safeParse(parseJson(body));
  if (parsed.success && parsed.data.status === status) return undefined;
  return `the body of the ${status} is not { code, message, status: ${status} }`;
}

function whyNotDescribed({ status, headers, body }: Received, route: ApiRoute): string | undefined {
  const rule = route.service?.operations['GET']?.responseRule(status);
  if (rule === undefined) return `it responded with ${status}, which is not described`;
  const type = headers['content-type'];
  const kind = statusesWithoutContent.has(status)
    ? 'none'
    : rule.bodyKind(type === undefined ? undefined : textOf(type));
  if (kind === undefined)
    return `the ${status} has the Content-Type "${textOf(type)}", which is not described`;
  if (kind === 'none' && body !== '') return `the ${status} has a body, which is not described`;
  const value = kind === 'json' ? parseJson(body) : {};
  return typeof value === 'object' && value !== null
    ? undefined
    : `the body of the ${status} is no JSON object or array`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
