import { severities, type Problem } from './problem.ts';

const nouns: Record<Problem['severity'], [one: string, several: string]> = {
  critical: ['critical problem', 'critical problems'],
  warning: ['warning', 'warnings'],
  notice: ['notice', 'notices'],
};

/** The state of the fleet in a sentence. Notices are for information: with nothing else, all is well. */
export function summarizeProblems(problems: readonly Pick<Problem, 'severity'>[]): string {
  const counted = severities.flatMap((severity) => {
    const count = problems.filter((problem) => problem.severity === severity).length;
    return count === 0 ? [] : [`${count} ${nouns[severity][count === 1 ? 0 : 1]}`];
  });
  if (problems.some(isWrong)) return `${counted.join(', ')}.`;
  return ['All is well', ...counted].join('; ') + '.';
}

/** Whether somebody has to do something about it. */
export const isWrong = ({ severity }: Pick<Problem, 'severity'>) => severity !== 'notice';
