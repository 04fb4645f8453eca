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

/** Visible ASCII, which is all that a name in a token or a label needs. */
const audience = z.string({ error: 'is not a text' }).regex(/^[!-~]{1,255}$/, {
  error: 'is not 1 to 255 visible ASCII characters',
});

const matching = (pattern: RegExp, issue: string) =>
  z.string({ error: 'is not a text' }).regex(pattern, issue);

const title = matching(
  /^(?! )\P{Cc}{1,100}(?<! )$/u,
  'is not a title of 1 to 100 characters, without control characters, and blanks around it',
);
const headerIssue = 'is not a header of your own such as X-API-Key';
const basePath = matching(basePathPattern, basePathIssue);

const markdownFile = (content: string) =>
  z
    .string({ error: `is not the name of a Markdown file with the ${content}` })
    .min(1, { error: `is empty: name the Markdown file with the ${content}` });

/** Environment variable that samples take the API key from. */
export const generalKeyVariable = 'API_KEY';

/** Of the customers' page. */
export const defaultPortalColor = '#0b6157';

const portalFileSchema = z
  .strictObject(
    {
      title: title.optional().meta({ description: 'title of the page; by default that of the API' }),
      color: matching(
        /^#[0-9A-Fa-f]{6}$/,
        'is not a color such as "#0b6157": write # and six hexadecimal digits, in quotes',
      )
        .optional()
        .meta({ description: `color of its head and buttons; by default ${defaultPortalColor}` }),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'is not the fields title and color' : undefined) },
  )
  .meta({ description: "the customers' own page, /portal" });

export const apiFileSchema = z
  .strictObject(
    {
      title: title.optional().meta({
        description: 'name of the API for its clients; by default the title of the first description',
      }),
      basePath: basePath
        .optional()
        .meta({ description: 'path that /usage is under; by default the base path of the first service' }),
      guide: markdownFile('guide').optional().meta({
        description: 'Markdown of the page /docs, relative to this file; by default a general guide',
      }),
      changelog: markdownFile('changelog')
        .optional()
        .meta({ description: 'Markdown of the page /docs/changelog, relative to this file' }),
      portal: portalFileSchema.optional(),
      keyPrefix: matching(keyPrefixPattern, keyPrefixIssue)
        .optional()
        .meta({ description: `what API keys begin with; by default ${defaultKeyPrefix}` }),
      keyHeader: matching(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, headerIssue)
        .refine((name) => !isReservedInRequest(name), headerIssue)
        .optional()
        .meta({ description: 'header such as X-API-Key that may hold the key, as well as Authorization' }),
      keyVariable: matching(
        /^[A-Z][A-Z0-9_]{0,63}$/,
        'is not the name of a variable such as COURIER_KEY: use up to 64 upper-case letters, digits and _',
      )
        .optional()
        .meta({
          description: `environment variable that holds the API key in samples; by default ${generalKeyVariable}`,
        }),
    },
    {
      error: (issue) => (issue.code === 'invalid_type' ? 'is not the fields title, keyPrefix, …' : undefined),
    },
  )
  .meta({ description: 'the API as a whole' });

export const serviceFileSchema = z
  .strictObject(
    {
      description: z
        .string({ error: 'is not the name of an OpenAPI file' })
        .min(1, { error: 'is empty: name the OpenAPI file of the service' })
        .optional()
        .meta({ description: 'OpenAPI 3.1 file of the service, relative to this file' }),
      urls: z
        .array(origin, {
          error: ({ input }) =>
            input === undefined
              ? 'is missing: name at least one instance'
              : 'is not a list of URLs such as [http://127.0.0.1:3003]',
        })
        .min(1, { error: 'is empty: name at least one instance' })
        .meta({ description: 'origins of the instances of the service' }),
      paths: z
        .array(basePath, { error: 'is not a list of paths such as [/v1]' })
        .min(1, { error: 'is empty: name at least one path such as /v1' })
        .optional()
        .meta({ description: 'what is under them passes to the service, whatever its method, type or size' }),
      upgrade: z
        .boolean({ error: 'is neither true nor false' })
        .optional()
        .meta({ description: 'whether there are WebSockets under its paths' }),
      setCookie: z
        .boolean({ error: 'is neither true nor false' })
        .optional()
        .meta({ description: 'whether Set-Cookie of its responses passes; by default it is dropped' }),
      audience: audience
        .optional()
        .meta({ description: 'audience of the tokens for the service; by default its name' }),
      timeoutMs: wholeNumber(9_999_999, 'milliseconds')
        .optional()
        .meta({ description: 'timeout for a response; by default UPSTREAM_TIMEOUT_MS' }),
      connections: wholeNumber(99_999, 'connections')
        .optional()
        .meta({ description: 'connections to each instance; by default UPSTREAM_CONNECTIONS' }),
      maxBodyBytes: wholeNumber(largestBodyBytes, 'bytes')
        .optional()
        .meta({ description: "size of a request's body; by default MAX_BODY_BYTES" }),
      readiness: z
        .string({ error: 'is not a path such as /readyz' })
        .regex(/^\/[!-~]*$/, { error: 'is not a path such as /readyz' })
        .optional()
        .meta({ description: 'path that is 503 while an instance is not ready; by default /readyz' }),
    },
    {
      error: (issue) => (issue.code === 'invalid_type' ? 'is not the fields urls, paths, …' : undefined),
    },
  )
  .check(({ value, issues }) => {
    if (value.upgrade === true && value.paths === undefined)
      issues.push({
        code: 'custom',
        message: 'has upgrade without paths, under which the WebSockets would be',
        input: value,
      });
    const has = [value.description, value.paths].filter((each) => each !== undefined).length;
    if (has === 1) return;
    const message =
      has === 0
        ? 'has neither paths, such as [/v1], nor a description, the OpenAPI file of the service'
        : 'has paths and a description, which says itself what its paths are: leave one of them out';
    issues.push({ code: 'custom', message, input: value });
  })
  .meta({ description: 'a service behind the gateway' });

const serviceName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'is not a valid name: use up to 32 lower-case letters, digits and dashes');

/** The file that SERVICES_FILE names. */
export const servicesFileSchema = z
  .strictObject(
    {
      api: apiFileSchema.optional(),
      services: z
        .record(serviceName, serviceFileSchema, { error: 'is not a mapping of names to services' })
        .refine((services) => Object.keys(services).length > 0, {
          error: 'is empty: name at least one service',
        })
        .meta({ description: 'the services by their names, which metrics, logs and traces show' }),
    },
    {
      error: (issue) =>
        issue.code === 'invalid_type' ? 'is not a mapping with the field services' : undefined,
    },
  )
  .meta({
    title: 'Services behind the API gateway',
    description: 'named by SERVICES_FILE, checked by "ops services check"',
  });

export type ServicesFile = z.output<typeof servicesFileSchema>;

/** The schema for editors, which is shipped as services-file.schema.json. */
export function servicesFileJsonSchema(): object {
  return z.toJSONSchema(servicesFileSchema, { target: 'draft-7', io: 'input' });
}
