interface Clause {
  clause: string;
  /** What it asks for, in our own words. */
  asks: string;
  /** `path: name` of the tests that show it, the path in test/ without its ending; or `does not apply:` or `deviates:`, and why. */
  shown: string[];
}

export interface Standard {
  title: string;
  clauses: Clause[];
}

/** @param text the title, and a line for each clause, with what shows it in indented lines below */
export function standard(text: string): Standard {
  const [title = '', ...lines] = text.trim().split('\n');
  const clauses: Clause[] = [];
  for (const line of lines) {
    if (line.startsWith(' ')) clauses.at(-1)?.shown.push(line.trim());
    else {
      const [clause = '', asks = ''] = line.split(/: (.+)/);
      clauses.push({ clause, asks, shown: [] });
    }
  }
  return { title, clauses };
}
