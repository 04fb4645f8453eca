type Cell = string | number | null | undefined;

/** JSON on one line, for programs. Its shape is stable: fields are added, never renamed or removed. */
export function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Rows under aligned headings, for people. */
export function writeTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const lines = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? '-')));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`);
  }
}

/** One thing, a line a field. */
export function writeFields(fields: Readonly<Record<string, Cell>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    process.stdout.write(`${name.padEnd(width)}  ${value ?? '-'}\n`);
  }
}
