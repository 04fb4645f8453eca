import { expect, test } from 'vitest';
import { startGateway } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** Code that runs in the service as a library would: prints lines, and emits a warning of Node. */
const library = `
  setTimeout(() => {
    console.log('printed by a library');
    console.error('error printed', 'by a library');
    process.emitWarning('warned by a library');
  }, 1000);
`;

test('every line of the output of the gateway is JSON, whatever libraries print', async () => {
  await using directory = await temporaryDirectory();
  await using service = await startGateway({
    DATA_DIR: directory.path,
    NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(library)}"`,
  });
  await expect.poll(service.output).toContain('warned by a library');
  await service.stop();
  const lines = service.output().trim().split('\n');
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(messages).toEqual(
    expect.arrayContaining([
      'printed by a library',
      'error printed by a library',
      'Warning: warned by a library',
    ]),
  );
});
