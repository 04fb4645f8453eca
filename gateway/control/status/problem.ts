import { z } from 'zod';

/** Most severe first. */
export const severities = ['critical', 'warning', 'notice'] as const;

/** Something that is wrong, in words. */
export const problemSchema = z
  .object({
    id: z.string().describe('The same while it is the same problem'),
    severity: z
      .enum(severities)
      .describe('`critical` is for now, `warning` for today, `notice` for information. As in RUNBOOK.md.'),
    title: z.string(),
    detail: z.string(),
    advice: z.string().describe('What to do, in a sentence or two'),
    link: z
      .union([
        z.object({ page: z.string(), text: z.string() }),
        z.object({ document: z.string(), heading: z.string() }),
      ])
      .describe('A page of the console, or a heading of a document in the repository'),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problemSchema>;
export type ProblemLink = Problem['link'];

export const runbook = (heading: string): ProblemLink => ({ document: 'gateway/RUNBOOK.md', heading });
