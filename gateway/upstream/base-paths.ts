import { defaultBasePath } from '../platform/config/config.ts';
import type { YamlIssue } from '../platform/config/yaml-file.ts';
import { fieldsOf, type Description } from './service-description.ts';

/** Says why operations cannot be under a path; undefined if they can. */
export function whyNoBasePath(path: string): string | undefined {
  const segments = path.split('/').slice(1);
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) || segments.some((each) => each === '.' || each === '..'))
    return 'is not a base path such as /v1 or /orders/v2';
  if (segments[0] === 'portal') return 'is where the portal of the gateway is: take another path';
  return ['docs', 'openapi.json'].includes(segments[0] ?? '')
    ? 'is where the documentation of the gateway is: take another path'
    : undefined;
}

/** Finds the base path of the operations of a service, which the address of its server gives. */
export function basePathOf({ outline }: Description): { basePath: string; issues: YamlIssue[] } {
  const path = ['servers'];
  const servers = (outline.servers ?? []).map(({ url }) => {
    const pathname = URL.parse(url, 'http://localhost')?.pathname.replace(/\/$/, '') ?? '';
    return { url, basePath: pathname, reason: whyNoBasePath(pathname) };
  });
  const [first = { url: '', basePath: defaultBasePath }] = servers;
  const other = servers.find(({ basePath }) => basePath !== first.basePath);
  const issues = servers.flatMap(({ url, reason }) =>
    reason === undefined ? [] : [{ path, text: `servers has "${url}", whose path ${reason}` }],
  );
  if (other !== undefined) {
    const text = `servers has "${first.url}" and "${other.url}": a service has one base path`;
    issues.push({ path, text });
  }
  return { basePath: first.basePath, issues };
}

/** A description whose paths begin with a prefix, and whose issues still have their places in the file. */
export function withPrefix(description: Description, prefix: string): Description {
  if (prefix === '') return description;
  const { fields, describe } = description;
  const paths = Object.entries(fieldsOf(fields['paths'])).map(([path, item]) => [prefix + path, item]);
  return {
    ...description,
    fields: { ...fields, paths: Object.fromEntries(paths) },
    describe: (issues) =>
      describe(
        issues.map((issue) => {
          const [section, path, ...rest] = issue.path;
          if (section !== 'paths' || path === undefined) return issue;
          return { ...issue, path: [section, String(path).slice(prefix.length), ...rest] };
        }),
      ),
  };
}
