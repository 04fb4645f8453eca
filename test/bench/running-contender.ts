import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/http/free-port.ts';
import type { BenchEnvironment, Contender } from './contenders.ts';
import type { LoadResult } from './load.ts';
import type { PinnedProcess } from './pinned-process.ts';
import type { Scenario } from './scenarios.ts';

export type RunningContender = Contender & { process: PinnedProcess; port: number };

/** Starts a contender on a free port, until the stack is disposed. The upstream alone has its own. */
export async function startContender(
  contender: Contender,
  environment: BenchEnvironment,
  stack: AsyncDisposableStack,
): Promise<RunningContender> {
  const port = contender.name === 'direct' ? environment.upstreamPort : await freePort();
  const process = await contender.start(environment, port);
  stack.defer(() => process.stop());
  return { ...contender, process, port };
}

/** A resumed process first runs the timers that expired while it was paused. */
const resumeDelayMs = 200;

/** Pauses all other contenders, so that their compilation and garbage collection do not distort the measurement. */
export async function measureAlone<T>(
  { name, process }: RunningContender,
  step: () => Promise<T>,
): Promise<T> {
  await process.resume();
  await sleep(resumeDelayMs);
  try {
    return await step();
  } catch (error) {
    const output = await process.lastOutput();
    throw new Error(`${name} failed; end of its output:\n${output}`, { cause: error });
  } finally {
    await process.pause();
  }
}

export class UnexpectedStatuses extends Error {}

/** Refused and failed requests are fast, so a sample with unexpected statuses would look too good. @throws UnexpectedStatuses */
export function assertStatuses(
  { name, expected }: Scenario,
  contender: Contender,
  { statuses }: LoadResult,
): void {
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  if (total === 0) throw new UnexpectedStatuses(`${contender.name}, ${name}: no responses`);
  for (const status of new Set([...Object.keys(statuses), ...Object.keys(expected)])) {
    const percent = (100 * (statuses[status] ?? 0)) / total;
    // A few stray errors do not invalidate a sample.
    const [from, to] = expected[status] ?? [0, 0.1];
    if (percent < from || percent > to) {
      throw new UnexpectedStatuses(
        `${contender.name}, ${name}: ${percent.toFixed(1)} % of the responses have status ${status}`,
      );
    }
  }
}

/**
 * Each round has its own order, the same in every run. A contender that leaves its core idle, such as `direct`, slows
 * down the next one, which must not always be the same.
 */
export function shuffleForRound<Named extends { name: string }>(
  round: number,
  participants: readonly Named[],
): Named[] {
  const sortKey = ({ name }: Named) => hash('sha256', `${round} ${name}`);
  return participants.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}
