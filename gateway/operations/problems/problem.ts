/** Most severe first. */
export const severities = ['critical', 'warning', 'notice'] as const;

/** Something that is wrong, in words. */
export interface Problem {
  /** The same while it is the same problem. */
  id: string;
  /** `critical` is for now, `warning` for today, `notice` for information. As in ALERTS.md. */
  severity: (typeof severities)[number];
  title: string;
  detail: string;
  /** What to do, in a sentence or two. */
  advice: string;
  link: ProblemLink;
  /** It is over, and shown for information. */
  past?: true;
}

/** A page of the console, or a heading of a document that comes with the gateway. */
export type ProblemLink = { page: string; text: string } | { document: string; heading: string };

export const alerts = (heading: string): ProblemLink => ({
  document: 'gateway/observability/ALERTS.md',
  heading,
});

export const runbook = (heading: string): ProblemLink => ({ document: 'gateway/ops/RUNBOOK.md', heading });
