import { z } from 'zod';
import { origin } from '../platform/config/env-schemas.ts';
import { defaultKeyPrefix, keyPrefixIssue, keyPrefixPattern } from '../platform/config/key-prefix.ts';
import { largestBodyBytes } from '../platform/config/service-config.ts';
import { isReservedInRequest } from './headers.ts';
import { basePathIssue, basePathPattern } from './routes.ts';

const wholeNumber = (max: number, unit: string) => {
  const error = `is not a whole number of ${unit} from 1 to ${max}`;
  return z.int({ error }).min(1, { error }).max(max, { error });
};

const matching = (pattern: RegExp, issue: string) =>
  z.string({ error: 'is not a text' }).regex(pattern, issue);

/** The name of a file. */
const file = (what: string) =>
  z.string({ error: `is not the name of ${what}` }).min(1, { error: `is empty: name ${what}` });

const boolean = z.boolean({ error: 'is neither true nor false' });

/** Options of an object, for a value that is none. */
const isNot = (fields: string) => ({
  error: ({ code }: { code: string }) => (code === 'invalid_type' ? `is not ${fields}` : undefined),
});

const title = matching(
  /^(?! )\P{Cc}{1,100}(?<! )$/u,
  'is not a title of 1 to 100 characters, without control characters, and blanks around it',
);
const headerIssue = 'is not a header of your own such as X-API-Key';
const basePath = matching(basePathPattern, basePathIssue);

/** Environment variable that samples take the API key from. */
export const generalKeyVariable = 'API_KEY';

/** Of the customers' page. */
export const defaultPortalColor = '#0b6157';

const color = matching(
  /^#[0-9A-Fa-f]{6}$/,
  'is not a color such as "#0b6157": write # and six hexadecimal digits, in quotes',
);
const keyVariable = matching(
  /^[A-Z][A-Z0-9_]{0,63}$/,
  'is not the name of a variable such as COURIER_KEY: use up to 64 upper-case letters, digits and _',
);
const keyHeader = matching(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, headerIssue).refine(
  (name) => !isReservedInRequest(name),
  headerIssue,
);

const portalFileSchema = z.strictObject(
  {
    title: title.optional().describe('title of the page; by default that of the API'),
    color: color.optional().describe(`color of its head and buttons; by default ${defaultPortalColor}`),
  },
  isNot('the fields title and color'),
);

export const apiFileSchema = z
  .strictObject(
    {
      title: title
        .optional()
        .describe('name of the API for its clients; by default the title of the first description'),
      basePath: basePath
        .optional()
        .describe('path that /usage is under; by default the base path of the first service'),
      guide: file('the Markdown file with the guide')
        .optional()
        .describe('Markdown of the page /docs, relative to this file; by default a general guide'),
      changelog: file('the Markdown file with the changelog')
        .optional()
        .describe('Markdown of the page /docs/changelog, relative to this file'),
      portal: portalFileSchema.optional().describe("the customers' own page, /portal"),
      keyPrefix: matching(keyPrefixPattern, keyPrefixIssue)
        .optional()
        .describe(`what API keys begin with; by default ${defaultKeyPrefix}`),
      keyHeader: keyHeader
        .optional()
        .describe('header such as X-API-Key that may hold the key, as well as Authorization'),
      keyVariable: keyVariable
        .optional()
        .describe(`environment variable that holds the API key in samples; by default ${generalKeyVariable}`),
    },
    isNot('the fields title, keyPrefix, …'),
  )
  .describe('the API as a whole');

const noInstance = 'name at least one instance';
const urls = z
  .array(origin, {
    error: ({ input }) =>
      input === undefined
        ? `is missing: ${noInstance}`
        : 'is not a list of URLs such as [http://127.0.0.1:3003]',
  })
  .min(1, { error: `is empty: ${noInstance}` });

const paths = z
  .array(basePath, { error: 'is not a list of paths such as [/v1]' })
  .min(1, { error: 'is empty: name at least one path such as /v1' });

/** Visible ASCII, which is all that a name in a token or a label needs. */
const audience = matching(/^[!-~]{1,255}$/, 'is not 1 to 255 visible ASCII characters');

const readiness = matching(/^\/[!-~]*$/, 'is not a path such as /readyz');

export const serviceFileSchema = z
  .strictObject(
    {
      description: file('the OpenAPI file of the service')
        .optional()
        .describe('OpenAPI 3.1 file of the service, relative to this file'),
      urls: urls.describe('origins of the instances of the service'),
      paths: paths
        .optional()
        .describe('what is under them passes to the service, whatever its method, type or size'),
      upgrade: boolean.optional().describe('whether there are WebSockets under its paths'),
      setCookie: boolean
        .optional()
        .describe('whether Set-Cookie of its responses passes; by default it is dropped'),
      audience: audience.optional().describe('audience of the tokens for the service; by default its name'),
      timeoutMs: wholeNumber(9_999_999, 'milliseconds')
        .optional()
        .describe('timeout for a response; by default UPSTREAM_TIMEOUT_MS'),
      connections: wholeNumber(99_999, 'connections')
        .optional()
        .describe('connections to each instance; by default UPSTREAM_CONNECTIONS'),
      maxBodyBytes: wholeNumber(largestBodyBytes, 'bytes')
        .optional()
        .describe("size of a request's body; by default MAX_BODY_BYTES"),
      readiness: readiness
        .optional()
        .describe('path that is 503 while an instance is not ready; by default /readyz'),
    },
    isNot('the fields urls, paths, …'),
  )
  .refine(({ upgrade, paths }) => upgrade !== true || paths !== undefined, {
    error: 'has upgrade without paths, under which the WebSockets would be',
  })
  .refine(({ description, paths }) => description !== undefined || paths !== undefined, {
    error: 'has neither paths, such as [/v1], nor a description, the OpenAPI file of the service',
  })
  .refine(({ description, paths }) => description === undefined || paths === undefined, {
    error: 'has paths and a description, which says itself what its paths are: leave one of them out',
  })
  .describe('a service behind the gateway');

const serviceName = matching(
  /^[a-z][a-z0-9-]{0,31}$/,
  'is not a valid name: use up to 32 lower-case letters, digits and dashes',
);
const serviceFiles = z
  .record(serviceName, serviceFileSchema, { error: 'is not a mapping of names to services' })
  .refine((services) => Object.keys(services).length > 0, { error: 'is empty: name at least one service' });

/** The file that SERVICES_FILE names. Editors have the schema in services-file.schema.json. */
export const servicesFileSchema = z
  .strictObject(
    {
      api: apiFileSchema.optional(),
      services: serviceFiles.describe('the services by their names, which metrics, logs and traces show'),
    },
    isNot('a mapping with the field services'),
  )
  .meta({
    title: 'Services behind the API gateway',
    description: 'named by SERVICES_FILE, checked by "ops services check"',
  });

export type ServicesFile = z.output<typeof servicesFileSchema>;
