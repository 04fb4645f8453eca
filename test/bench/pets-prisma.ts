import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openDatabase } from '../../pets-service/database/database.ts';
import { PrismaClient } from '../../pets-service/generated/prisma/client.ts';
import { newPet, randomId, type PetsCall } from './pets-scenarios.ts';

/*
 * Prisma alone, as the reference for the service: equivalent calls with the same adapter and pool. HTTP only starts a
 * run and returns its result; the measured calls do not use it.
 */
export interface PrismaRun {
  call: PetsCall;
  /** Makes each call in its own tick, as requests arrive. Otherwise Prisma batches the findUnique calls of one tick. */
  separateTicks: boolean;
  concurrency: number;
  seconds: number;
}

export interface PrismaResult {
  calls: number;
  seconds: number;
  cpuSeconds: number;
  p50: number;
  p99: number;
}

const {
  reads: { adapter },
} = await openDatabase({
  url: process.env['DATABASE_URL'] ?? '',
  // Half of it is for reads.
  poolSize: 2 * Number(process.env['DATABASE_POOL_SIZE']),
  dataDirectory: '',
});
const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' });

function queryOf(call: PetsCall): () => Promise<unknown> {
  switch (call.kind) {
    case 'list': {
      const { limit, status, after } = call;
      return () =>
        prisma.pet.findMany({
          where: {
            ...(status === undefined ? {} : { status: { in: [status, status] } }),
            ...(after === undefined ? {} : { id: { gt: BigInt(after) } }),
          },
          orderBy: status === undefined ? { id: 'asc' } : [{ status: 'asc' }, { id: 'asc' }],
          take: limit + 1,
        });
    }
    case 'list-random-page':
      return () =>
        prisma.pet.findMany({
          where: { id: { gt: randomId(call) } },
          orderBy: { id: 'asc' },
          take: call.limit + 1,
        });
    case 'get':
      return () => prisma.pet.findUniqueOrThrow({ where: { id: randomId(call) } });
    case 'create':
      return () => prisma.pet.create({ data: newPet });
  }
}

async function run({ call, separateTicks, concurrency, seconds }: PrismaRun): Promise<PrismaResult> {
  const query = queryOf(call);
  const times: number[] = [];
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const endsAt = startedAt + seconds * 1000;
  async function caller(): Promise<void> {
    for (let sentAt = performance.now(); sentAt < endsAt;) {
      if (separateTicks) await nextTurn();
      await query();
      const completedAt = performance.now();
      times.push(completedAt - sentAt);
      sentAt = completedAt;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller));
  const { user, system } = process.cpuUsage(cpu);
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const percentile = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return {
    calls: times.length,
    seconds: elapsedSeconds,
    cpuSeconds: (user + system) / 1e6,
    p50: percentile(0.5),
    p99: percentile(0.99),
  };
}

createServer((req, res) => {
  void (async () => {
    const result = await run((await json(req)) as PrismaRun);
    res.end(JSON.stringify(result));
  })();
}).listen(Number(process.env['PORT']), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
