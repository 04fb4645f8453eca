import { html } from './html.ts';
import { renderMarkdown } from './markdown.ts';

/**
 * The changelog as an Atom feed (RFC 4287): an entry for each heading that is a date.
 * @param origin address of the documentation, in the ids of the entries
 */
export function changelogFeed(changelog: string, name: string, origin: string): string {
  const page = `${origin}/docs/changelog`;
  const entries = changelog.split(/^(?=## )/m).flatMap((section) => {
    const [, date, text = ''] = /^## (\d{4}-\d\d-\d\d)\n([^]*)$/.exec(section) ?? [];
    return date === undefined ? [] : [{ date, text }];
  });
  const [newest] = entries
    .map(({ date }) => date)
    .toSorted()
    .toReversed();
  return html`<?xml version="1.0" encoding="utf-8"?>
    <feed xmlns="http://www.w3.org/2005/Atom">
      <title>Changelog of ${name}</title>
      <id>${page}</id>
      <link href="${page}" />
      <link rel="self" href="${page}.atom" />
      <author><name>${name}</name></author>
      <updated>${timeOf(newest ?? '1970-01-01')}</updated>
      ${entries.map(
        ({ date, text }) =>
          html`<entry>
            <title>${date}</title>
            <id>${page}#${date}</id>
            <link href="${page}#${date}" />
            <updated>${timeOf(date)}</updated>
            <content type="html">${renderMarkdown(text).body.text}</content>
          </entry>`,
      )}
    </feed> `.text;
}

const timeOf = (date: string) => `${date}T00:00:00Z`;
