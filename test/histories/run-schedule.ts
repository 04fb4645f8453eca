import { setTimeout as sleep } from 'node:timers/promises';
import { runClient } from './clients.ts';
import { createConnection } from './connection.ts';
import type { Fault, History, RecordedRequest } from './history.ts';
import { createOperator } from './operator.ts';
import { targetOf, type PlannedFault, type Schedule } from './schedule.ts';
import { disturb, observedIn, startSystem, waitUntilNormal, type System } from './system.ts';

/** Runs a schedule on real processes. @param directory another copy of the sources */
export async function runSchedule(schedule: Schedule, directory?: string): Promise<History> {
  await using system = await startSystem(schedule.gateways, directory);
  return await runOn(system, schedule);
}

/** Runs a schedule on a system, which may have run others. */
export async function runOn(system: System, schedule: Schedule): Promise<History> {
  system.takeForwarded();
  using connection = createConnection(() => system.redisUrl());
  const urls = system.gateways.map(({ url }) => url);
  const operator = await createOperator({ connect: () => connection.open(), urls, schedule });
  const requests: RecordedRequest[] = [];
  const faults: Fault[] = [];
  const ending = new AbortController();
  const startMs = Date.now();
  const at = async (ms: number, act: () => Promise<unknown>) => {
    await sleep(Math.max(0, startMs + ms - Date.now()));
    await act();
  };
  const turns = new Map<string, Promise<unknown>>();
  /** The faults of one process one after the other: a start takes its time. */
  function disturbInTurn(fault: PlannedFault): Promise<unknown> {
    const target = `${targetOf(fault.kind)} ${fault.gateway}`;
    const turn = (turns.get(target) ?? Promise.resolve()).then(async () => {
      faults.push(await disturb(system, fault));
    });
    turns.set(target, turn);
    return turn;
  }

  const clients = schedule.clients.map((client, index) =>
    runClient(client, {
      urls,
      keyOf: (name) => operator.keyOf(name),
      seed: schedule.seed * 1000 + index,
      signal: ending.signal,
      record: (request) => requests.push(request),
    }),
  );
  await Promise.all([
    at(schedule.lengthMs, async () => ending.abort()),
    ...clients,
    ...schedule.changes.map((change) => at(change.atMs, () => operator.begin(change))),
    ...schedule.faults.map((fault) => at(fault.atMs, () => disturbInTurn(fault))),
  ]);
  await waitUntilNormal(system);
  const endMs = Date.now();
  await operator.untilReported();
  const { policy, plans } = schedule;
  const { owners, opened, changes } = operator;
  const seen = { requests, forwarded: system.takeForwarded(), use: await operator.use() };
  const happened = { changes, faults, ...observedIn(system.gateways, startMs) };
  return { startMs, endMs, policy, plans, owners, opened, ...happened, ...seen };
}
