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
      .object({
        page: z.string(),
        text: z.string(),
        document: z.exactOptional(z.string()),
        heading: z.exactOptional(z.string()),
      })
      .describe(
        'A page of the console, and a heading of a document in the repository if one says what to do',
      ),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problemSchema>;
export type ProblemLink = Problem['link'];
