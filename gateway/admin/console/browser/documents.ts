import { url } from '../../../browser/url.ts';

/** Documents for operators, by their names in addresses. */
export const documents: Record<string, string> = {
  alerts: 'Alerts',
  runbook: 'Runbook',
  operations: 'Settings and operation',
  manual: 'Manual',
  redis: 'Redis keys',
};

/** The id of a heading, as Markdown links have it. */
export const headingId = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/**
 * Address of a heading of a document.
 * @param file such as gateway/ops/RUNBOOK.md
 */
export const documentPath = (file: string, heading: string) =>
  url`/console/documents/${nameOf(file)}#${headingId(heading)}`;

const nameOf = (file: string) => (file.split('/').at(-1) ?? '').replace('.md', '').toLowerCase();
