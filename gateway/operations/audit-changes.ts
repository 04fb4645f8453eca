/** A field that a change has changed. Undefined if the record or setting did not have it. */
export interface ChangedField {
  field: string;
  before: unknown;
  after: unknown;
}

/** Fields of an entry of the audit log that differ before and after it. Without `rev`, which every change raises. */
export function changedFields(before: unknown, after: unknown): ChangedField[] {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((name) => name !== 'rev');
  return names
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ field: name, before: from[name], after: to[name] }));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
