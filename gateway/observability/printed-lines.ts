import type { Meaning } from '#runtime/console-lines.ts';

/** What libraries print to the console, and what it means for operators. */
export const printedLines: readonly Meaning[] = [
  [
    /^Skipping the ready check because INFO command fails/,
    'the Redis user may not run INFO; settings of Redis that may lose keys are not checked',
  ],
];
