import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { common, project } from '../vitest.config.ts';

/** The files of a run, in the order in which they are named. */
const files = (process.env['MUTATION_TESTS'] ?? '').split(' ');

class AsNamed extends BaseSequencer {
  override sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => files.findIndex((file) => moduleId.includes(file));
    return Promise.resolve(specifications.toSorted((one, other) => place(one) - place(other)));
  }
}

const include = files.map((file) => (file.endsWith('.ts') ? file : `${file}/**/*.test.ts`));
const { test } = project('mutations', { include, isolate: false });

/** The tests of one planted change, in one process, until the first fails: run.ts. */
export default defineConfig({
  test: {
    ...common,
    ...test,
    reporters: ['dot'],
    bail: 1,
    maxWorkers: 1,
    globalSetup: ['mutations/setup.ts'],
    sequence: { sequencer: AsNamed },
  },
});
