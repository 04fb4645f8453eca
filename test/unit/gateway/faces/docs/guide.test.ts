import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCodes } from '../../../../../gateway/errors.ts';
import { loadDocs } from '../../../../../gateway/faces/docs/docs.ts';
import { loadApiDescription } from '../../../../../gateway/upstream/api-description.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../../../support/courier/${name}`, import.meta.url), 'utf8');
const services = ['parcels', 'boxes'].map((name) => ({
  name,
  description: { file: `${name}.yaml`, text: read(`${name}.yaml`) },
}));
const settings = {
  guide: undefined,
  clients: undefined,
  changelog: undefined,
  keyPrefix: 'box_',
  keyVariable: 'COURIER_KEY',
};

function docsOf({ guide, title = 'Parcels & <more> of *ours*' }: { guide?: string; title?: string } = {}) {
  const docs = loadDocs(loadApiDescription(undefined, services, { title }), undefined, {
    ...settings,
    guide,
  });
  return (path: string) => docs.find(path)?.text;
}

const idsOf = (html = '') => Array.from(html.matchAll(/<h[23] id="([^"]+)"/g), ([, id = '']) => id);

test("an API without a guide gets one of the gateway's, with its own first GET operation as the example", () => {
  const guide = docsOf()('/docs') ?? '';
  expect(guide).toContain('How to use the Parcels &amp; &lt;more&gt; of *ours*: keys');
  expect(guide).toContain('export COURIER_KEY=box_…');
  expect(guide).toContain(
    'curl --include &#39;http://localhost:8080/parcels/v2/parcels&#39; \\\n  --header &quot;Authorization: Bearer $COURIER_KEY&quot;',
  );
  expect(guide).toContain('<code>GET /parcels/v2/usage</code>');
  expect(guide).not.toContain('{{');
  expect(guide).not.toMatch(/\bpets?\b|pets_|animal|\/v1\b/i);
  const first = 'get-a-key first-request limits ask-whether-something-has-changed back-off';
  expect(idsOf(guide).slice(0, 5).join(' ')).toBe(first);
});

test.each([
  ['60000000 bytes', [60_000_000]],
  ['1 MiB', [1_048_576, 1_048_576]],
  ['the service accepts', [1_048_576, 60_000_000]],
])('the published description says that a body is not larger than %s', (size, limits) => {
  const own = limits.map((maxBodyBytes, index) => Object.assign({}, services[index], { maxBodyBytes }));
  expect(loadApiDescription(undefined, own).json).toContain(`body is larger than ${size} (`);
});

test('every code of the gateway and of the services is explained, each once, also in a guide that leaves it out', () => {
  const codes = [...errorCodes, 'parcel_not_found'].toSorted();
  const generic = idsOf(docsOf()('/docs'));
  expect(generic.filter((id) => codes.includes(id)).toSorted()).toEqual(codes);
  const guide = docsOf({ guide: read('guide.md') })('/docs') ?? '';
  const own = idsOf(guide);
  expect(own.filter((id) => codes.includes(id)).toSorted()).toEqual(codes);
  const first = 'your-key what-can-go-wrong parcel_not_found rate_limit_exceeded other-errors';
  expect(own.slice(0, 5).join(' ')).toBe(first);
  expect(guide).toContain('Your van is full.');
});
