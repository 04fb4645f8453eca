import { identify, type Mutation } from './plant.ts';
import { survivors } from './survivors.ts';

export interface Outcome {
  mutation: Mutation;
  survived: boolean;
}

/** @returns why a planted change survives, from the list that is checked in */
export function explanationOf(mutation: Mutation): string | undefined {
  return survivors.find((survivor) => identify(survivor) === identify(mutation))?.because;
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
const code = (text: string) => `\`${text.replaceAll('|', String.raw`\|`)}\``;

/** The result of a run as Markdown: a row for each source, and each survivor with its explanation. */
export function report(outcomes: readonly Outcome[], picked: number): string {
  const survived = outcomes.filter((outcome) => outcome.survived);
  const rows = [...Map.groupBy(outcomes, ({ mutation }) => mutation.file)].map(([file, ofFile]) => {
    const caught = ofFile.filter(({ survived }) => !survived).length;
    return `| ${file} | ${ofFile.length} | ${caught} | ${ofFile.length - caught} |`;
  });
  const explained = survived.map(({ mutation }) => {
    const { file, line, before, after } = mutation;
    return `| ${file}:${line} | ${code(before)} | ${code(after)} | ${explanationOf(mutation) ?? '**not explained**'} |`;
  });
  const caught = outcomes.length - survived.length;
  return [
    `${outcomes.length} of ${picked} picked changes planted, ${caught} caught: ${percent(caught, outcomes.length)}.`,
    '',
    '| source | planted | caught | survived |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    '## Survivors',
    '',
    '| source | line | changed to | survives because |',
    '| --- | --- | --- | --- |',
    ...explained,
    '',
  ].join('\n');
}
