type Kind = 'text' | 'time' | 'scopes';

interface RecordField {
  kind: Kind;
  /** In forms and on pages. */
  label: string;
  /** In a sentence, if it is not the label. */
  noun?: string;
  /** What it is, for options and documents. */
  meaning: string;
  /** Heading of its column in lists of the command. */
  column?: string;
  /** Texts are searched, unless this says otherwise. */
  isSearched?: false;
  /** Whether customers see it in the portal. */
  isInPortal?: true;
}

export type RecordFields = Readonly<Record<string, RecordField>>;

/**
 * What operators give a key beside its name. All else follows from this list: how it is stored, shown, exported, searched and kept by a
 * rotation, inputs of the API, options of the command, dialogs of the console. Also a browser loads it.
 */
export const keyFields = {
  expiresAt: {
    kind: 'time',
    label: 'Expires',
    noun: 'expiry',
    meaning: 'time of expiry',
    column: 'EXPIRES',
    isInPortal: true,
  },
  scopes: {
    kind: 'scopes',
    label: 'Scopes',
    meaning: 'operations that the key may call, by their scopes',
    isInPortal: true,
  },
} as const satisfies RecordFields;

/** The same for a customer. */
export const customerFields = {
  contact: { kind: 'text', label: 'Contact', meaning: 'whom to ask, such as an address for mail' },
  notes: { kind: 'text', label: 'Notes', meaning: 'what colleagues should know', isSearched: false },
  reference: {
    kind: 'text',
    label: 'Reference of the billing system',
    noun: 'reference',
    meaning: 'what the billing system calls the customer',
  },
} as const satisfies RecordFields;

type Makers = Readonly<Record<Kind, (field: RecordField, name: string) => unknown>>;

/** Makes a value for each field, by its kind. */
export function byKind<Of extends RecordFields, Make extends Makers>(
  fields: Of,
  make: Make,
): { -readonly [Name in keyof Of]: ReturnType<Make[Of[Name]['kind']]> };
export function byKind(fields: RecordFields, make: Makers): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, make[field.kind](field, name)]),
  );
}

/** The fields of a record that are in a list. */
export function fieldsIn<Of extends RecordFields, Value extends { [Name in keyof Of]?: unknown }>(
  fields: Of,
  record: Value,
): Pick<Value, keyof Of & keyof Value>;
export function fieldsIn(fields: RecordFields, record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name in fields));
}

/** The fields that customers see. */
export function portalFields<Of extends RecordFields>(
  fields: Of,
): { [Name in keyof Of as Of[Name] extends { isInPortal: true } ? Name : never]: Of[Name] };
export function portalFields(fields: RecordFields): object {
  return Object.fromEntries(Object.entries(fields).filter(([, { isInPortal }]) => isInPortal));
}

/** Names of the fields that are searched. */
export function searchedNames<Of extends RecordFields>(fields: Of): readonly (keyof Of & string)[];
export function searchedNames(fields: RecordFields): readonly string[] {
  return Object.entries(fields).flatMap(([name, { kind, isSearched }]) =>
    kind === 'text' && isSearched !== false ? [name] : [],
  );
}

/** Such as "name, contact, reference". */
export const searchedWords = (fields: RecordFields) =>
  [
    'name',
    ...searchedNames(fields)
      .flatMap((name) => fields[name] ?? [])
      .map(wordOf),
  ].join(', ');

/** What a rotation keeps: "name, expiry and scopes". */
export const keptWords = (fields: RecordFields) =>
  new Intl.ListFormat('en-GB').format(['name', ...Object.values(fields).map(wordOf)]);

/** Such as "expiry". */
export const wordOf = (field: RecordField) => field.noun ?? field.label.toLowerCase();

/** A field of a record as text; empty if the record does not have it. */
export function textIn(record: object, name: string): string {
  const value: unknown = Object.entries(record).find(([each]) => each === name)?.[1];
  if (Array.isArray(value)) return value.join(' ');
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** A scope as RFC 6749 section 3.3 allows it, of characters that need no quotes in a header, a list or a shell. */
export const scopePattern = /^[A-Za-z0-9][\w:.-]{0,63}$/;
