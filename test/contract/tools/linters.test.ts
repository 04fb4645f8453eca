import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runTool } from './tools.ts';

const description = fileURLToPath(new URL('../../../gateway/openapi.yaml', import.meta.url));

describe('the description', { tags: ['api-tools'] }, () => {
  test('has no finding of Redocly, recommended-strict', async () => {
    const output = await runTool('redocly', ['lint', '--config=redocly.yaml', description]);
    expect(output).toContain('Your API description is valid');
    expect(output).not.toMatch(/warning/i);
  });

  test('has no finding of Spectral, with all rules of OpenAPI and OWASP but those excused', async () => {
    const args = ['lint', '--ruleset=spectral.yaml', '--fail-severity=hint', description];
    expect(await runTool('spectral', args)).toContain('No results');
  });
});
