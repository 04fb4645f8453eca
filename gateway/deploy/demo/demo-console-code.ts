import { makeConsoleCode } from '../../control/access/console-codes.ts';
import { osUser } from '../../control/access/os-user.ts';
import { withDemoRedis, type DemoRedis } from './demo-redis.ts';

/** The code in the link to the console that `npm start` prints. @returns undefined if there can be none; the log says why */
export async function provideConsoleCode(dependencies: Omit<DemoRedis, 'who'>): Promise<string | undefined> {
  const name = osUser();
  const made = await withDemoRedis(
    { ...dependencies, who: name },
    'no link to the console can be made',
    (session) => makeConsoleCode(session, { name, role: 'operator' }),
  );
  return made?.code;
}
