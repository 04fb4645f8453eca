import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runTool } from './tools.ts';

const description = fileURLToPath(new URL('../../../gateway/openapi.yaml', import.meta.url));

interface SpectralFinding {
  code: string;
  path: string[];
}

async function spectral(file: string): Promise<string[]> {
  const output = await runTool('spectral', [
    'lint',
    '--ruleset=spectral.yaml',
    '--format=json',
    '--quiet',
    '--fail-severity=off',
    file,
  ]).catch((error: unknown) => String(error));
  return (JSON.parse(output) as SpectralFinding[]).map(({ code, path }) => `${code} ${path.join('.')}`);
}

describe('the description', { tags: ['api-tools'] }, () => {
  test('has no finding of Redocly, recommended-strict', async () => {
    const output = await runTool('redocly', ['lint', '--config=redocly.yaml', description]);
    expect(output).toContain('Your API description is valid');
    expect(output).not.toMatch(/warning/i);
  });

  test('has no finding of Spectral, with all rules of OpenAPI and OWASP but those excused', async () => {
    expect(await spectral(description)).toEqual([]);
  });
});
