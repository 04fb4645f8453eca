/** What a service exposes: for each name that a selector can have, the labels of its series and their values. */
export type Exposition = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** @param text in Prometheus' text format */
export function parseExposition(text: string): Exposition {
  const names = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = names.get(name) ?? new Map<string, Set<string>>();
    names.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return names;
}
