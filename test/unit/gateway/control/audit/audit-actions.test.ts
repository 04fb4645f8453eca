import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { auditVerbs, operations } from '../../../../../gateway/control/registry.ts';
import { eventTypeNames } from '../../../../../gateway/control/webhooks/event-types.ts';

const notActions = new Set<string>([...eventTypeNames, 'webhook.test', 'commander.help', 'ipaddr.js']);

/** Words with a point between them, in what records changes, and in what derives events from them. */
const named = globSync('gateway/{control,quota,faces/command}/**/*.ts')
  .filter((file) => !/-operations\.ts$|\/audit-actions\.ts$/.test(file))
  .flatMap((file) => readFileSync(file, 'utf8').match(/(?<=')[a-z-]+\.[a-z_-]+(?=')/g) ?? [])
  .filter((name) => !notActions.has(name));

test('what is recorded is what operations say of themselves, and what is no operation', () => {
  expect(new Set(named)).toEqual(new Set(auditVerbs.keys()));
});

test('an action has the words of its command, unless it is named', () => {
  expect(auditVerbs.get('bans.add')).toBe('banned');
  expect(auditVerbs.get('portal.link')).toBe('made a link to the portal for');
  expect([...auditVerbs.keys()]).toEqual([...auditVerbs.keys()].toSorted());
});

test('a change records what it does, or what another operation does', () => {
  const silent = operations.filter((operation) => operation.kind === 'change' && !operation.audits);
  const names = silent.map(({ operationId }) => operationId).toSorted();
  expect(names).toEqual(['issueFurtherKey', 'issueKey', 'testWebhook']);
});
