import { expect, test } from 'vitest';
import { z } from 'zod';
import { change } from '../../../../../gateway/control/operation.ts';
import { operations } from '../../../../../gateway/control/registry.ts';
import { dialogsOf } from '../../../../../gateway/faces/console/dialogs.ts';

const changes = operations.filter((operation) => operation.kind === 'change');
const dialogs = dialogsOf(operations);

test('the console offers all that changes something, but for what a page asks by itself or only programs do', () => {
  const offered = new Set(dialogs.map(({ operationId }) => operationId));
  const others = changes.filter(({ operationId, http }) => http !== undefined && !offered.has(operationId));
  expect(others.map(({ operationId }) => operationId).toSorted()).toEqual(['createCustomer', 'setPlan']);
});

test('what is offered has a route, and a key is not offered what its state rules out', () => {
  const named = (found: readonly { operationId: string }[]) => found.map(({ operationId }) => operationId);
  expect(named(changes.filter(({ asks, http }) => asks !== undefined && http === undefined))).toEqual([]);
  expect(named(dialogs.filter(({ noun, states }) => noun === 'key' && states === undefined))).toEqual([]);
  expect(named(dialogs.filter(({ states }) => states?.includes('suspended')))).not.toContain('rotateKey');
});

test('each text has places of its title, and of fields that its target or its result has', () => {
  for (const { operationId, ...dialog } of dialogs) {
    const result = changes.find((operation) => operation.operationId === operationId)?.result;
    const known = result instanceof z.ZodObject ? Object.keys(result.shape) : [];
    const { heading = '', text = '', done = '', secret } = dialog;
    const texts = [heading, text, done, secret === undefined ? '' : `${secret.about} {${secret.field}}`];
    const places = texts.flatMap((each) => each.match(/(?<=\{)\w+(?=\})/g) ?? []);
    const unknown = places.filter((name) => name !== 'name' && !known.includes(name));
    expect(unknown, operationId).toEqual([]);
    // Something is said or shown after each change.
    expect(done !== '' || secret !== undefined, operationId).toBe(true);
  }
});

test('what is offered in some states only is offered in states that there are', () => {
  for (const { operationId, states = [] } of dialogs) {
    const result = changes.find((operation) => operation.operationId === operationId)?.result;
    const state: unknown = result instanceof z.ZodObject ? result.shape['state'] : undefined;
    const known = state instanceof z.ZodEnum ? state.options : [];
    const unknown = states.filter((each) => !known.includes(each));
    expect(unknown, operationId).toEqual([]);
  }
});

const fieldsOf = (wanted: string) => {
  const fields = dialogs
    .filter(({ operationId }) => operationId === wanted)
    .flatMap((dialog) => dialog.fields);
  return Object.fromEntries(
    fields.map(({ name, label: _label, choices: _choices, ...field }) => [name, field]),
  );
};

test('what a field takes, and whether it is required, follows from the input', () => {
  expect(fieldsOf('banKey')).toEqual({
    seconds: { type: 'number', required: true, nullable: false, min: 1, max: 31_536_000 },
    reason: { type: 'text', required: true, nullable: false, maxlength: 100 },
  });
  const [name, expiresAt, scopes] = [
    { type: 'text', required: true, nullable: false, maxlength: 100 },
    { kind: 'time', type: 'text', required: false, nullable: true },
    { placeholder: 'all', type: 'list', required: false, nullable: true },
  ];
  // A change may leave the name out, and a form cannot empty it.
  expect(fieldsOf('changeKey')).toEqual({ name, expiresAt, scopes });
  expect(fieldsOf('issueFurtherKey')).toMatchObject({ name: { required: false, nullable: false } });
});

test('a field has the bounds of its input, also if it may be null', () => {
  const input = z.strictObject({
    team: z.string().max(60).nullish(),
    size: z.int().min(2).max(9).nullable(),
  });
  const operation = change({
    operationId: 'changeTeam',
    http: 'PATCH /keys/:id',
    summary: '',
    responds: '',
    input,
    result: z.object({}),
    asks: {
      offer: 'Change…',
      heading: 'Change',
      fields: { team: { label: '' }, size: { label: '' } },
      done: 'It is changed',
    },
    run: () => Promise.resolve({}),
  });
  expect(dialogsOf([operation])).toMatchObject([{ fields: [{ maxlength: 60 }, { min: 2, max: 9 }] }]);
});

test('a dialog that asks for what its operation does not take is refused', () => {
  const operation = change({
    operationId: 'moveKey',
    http: 'POST /keys/:id/move',
    summary: '',
    responds: '',
    input: z.strictObject({ to: z.string() }),
    result: z.object({}),
    asks: { offer: 'Move…', heading: 'Move', fields: { where: { label: 'To' } }, done: 'It is moved' },
    run: () => Promise.resolve({}),
  });
  expect(() => dialogsOf([operation])).toThrow('a dialog asks for where');
});
