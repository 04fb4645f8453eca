import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase } from '../../pets-service/database/database.ts';
import { PrismaClient } from '../../pets-service/generated/prisma/client.ts';
import { newPet, randomId, type PetsCall } from './pets-scenarios.ts';

/*
 * Prisma alone, as the measure of the service: what the service is asked, by the calls that Prisma has for it, with the same
 * adapter and pool, and nothing else. HTTP is only how a run is ordered; the run is over when it is answered.
 */
export interface PrismaRun {
  call: PetsCall;
  /** Each call in a tick of its own, as requests come; else Prisma makes one query of those of findUnique in one. */
  apart: boolean;
  concurrency: number;
  seconds: number;
}

export interface PrismaRan {
  calls: number;
  seconds: number;
  cpuSeconds: number;
  p50: number;
  p99: number;
}

const { adapter } = await openDatabase({
  url: process.env['DATABASE_URL'] ?? '',
  poolSize: Number(process.env['DATABASE_POOL_SIZE']),
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
    case 'list-anywhere':
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

async function run({ call, apart, concurrency, seconds }: PrismaRun): Promise<PrismaRan> {
  const query = queryOf(call);
  const times: number[] = [];
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const endsAt = startedAt + seconds * 1000;
  async function caller(): Promise<void> {
    for (let sentAt = performance.now(); sentAt < endsAt;) {
      if (apart) await turn();
      await query();
      const answeredAt = performance.now();
      times.push(answeredAt - sentAt);
      sentAt = answeredAt;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller));
  const { user, system } = process.cpuUsage(cpu);
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return {
    calls: times.length,
    seconds: elapsedSeconds,
    cpuSeconds: (user + system) / 1e6,
    p50: at(0.5),
    p99: at(0.99),
  };
}

createServer((req, res) => {
  void (async () => {
    const ran = await run((await json(req)) as PrismaRun);
    res.end(JSON.stringify(ran));
  })();
}).listen(Number(process.env['PORT']), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
