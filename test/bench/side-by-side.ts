import { cpuTimeOf } from './cpu-time.ts';
import type { Fixture } from './fixture.ts';
import { closedLoop } from './load.ts';
import { median } from './report.ts';
import { assertStatuses, UnexpectedStatuses, type RunningContender } from './running-contender.ts';
import type { Scenario } from './scenarios.ts';

/** Microseconds of CPU time that a request takes in each of two processes. */
export type MicrosOfEach = readonly [this: number, other: number];

/**
 * Loads two gateways at the same time, which share one core. Another virtual machine on the same hardware makes a core up
 * to twice as slow within seconds; here that happens to both alike, so that their ratio stays. In turn, it would not.
 * Once more if Redis was silent for so long meanwhile that a gateway decided alone, which a machine that stands still does.
 * @throws UnexpectedStatuses for the second time
 */
export async function sampleTogether(...args: Parameters<typeof sample>): Promise<MicrosOfEach> {
  try {
    return await sample(...args);
  } catch (error) {
    if (error instanceof UnexpectedStatuses) return sample(...args);
    throw error;
  }
}

async function sample(
  fixture: Fixture,
  scenario: Scenario,
  [first, second]: readonly [RunningContender, RunningContender],
  seconds: number,
): Promise<MicrosOfEach> {
  const measure = async (contender: RunningContender) => {
    const { pid } = contender.process;
    const before = await cpuTimeOf(pid);
    const load = await closedLoop({
      directory: fixture.directory,
      scriptName: `wrk-${contender.port}.lua`,
      url: `http://127.0.0.1:${contender.port}`,
      script: scenario.script(fixture),
      connections: scenario.connections,
      seconds,
    });
    const requests = Object.values(load.statuses).reduce((sum, count) => sum + count, 0);
    return { load, micros: (((await cpuTimeOf(pid)).total - before.total) / requests) * 1e6 };
  };
  const [own, other] = await Promise.all([measure(first), measure(second)]);
  assertStatuses(scenario, first, own.load);
  assertStatuses(scenario, second, other.load);
  return [own.micros, other.micros];
}

/** Ratio of the first to the second of a pair of processes: the median of their samples. */
export function ratioOfPair(samples: readonly MicrosOfEach[]): number {
  return median(samples.map(([first, second]) => first / second));
}
