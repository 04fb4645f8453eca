import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadApiDescription } from '../../../gateway/upstream/api-description.ts';
import { shared } from '../../support/kits/shared.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';
import { runTool } from './tools.ts';

describe('the description', { tags: ['api-tools'] }, () => {
  let description: string;

  const directory = shared(temporaryDirectory);
  beforeAll(async () => {
    description = join(directory.path, 'openapi.json');
    await writeFile(description, loadApiDescription().json);
  });

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
