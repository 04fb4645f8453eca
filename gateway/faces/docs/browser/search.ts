import { element } from './elements.ts';
import { headingId } from './heading-id.ts';

const maxResults = 8;

/** Searches all pages while somebody types. They are fetched as Markdown with the first letter. */
export function connectSearch() {
  const form = document.querySelector<HTMLFormElement>('form[data-search]');
  const input = form?.querySelector('input');
  const results = form?.querySelector('[data-results]');
  if (!form || !input || !results) return;
  let sections: ReturnType<typeof fetchSections> | undefined;
  form.hidden = false;

  const show = async () => {
    const typed = input.value;
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return results.replaceChildren();
    sections ??= fetchSections();
    const found = await sections.catch(() => undefined);
    // Somebody may have typed on.
    if (typed !== input.value) return;
    if (found === undefined) {
      sections = undefined;
      return results.replaceChildren(element('p', {}, 'The search is not available. Try again later.'));
    }
    const matches = findSections(found, words);
    const summary = matches.length === 0 ? 'Nothing found' : `${matches.length} found`;
    const links = matches
      .slice(0, maxResults)
      .map(({ page, title, path }) => element('li', {}, element('a', { href: path }, title), ` ${page}`));
    results.replaceChildren(element('p', {}, summary), element('ul', {}, ...links));
  };

  input.addEventListener('input', () => void show());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void show().then(() => results.querySelector('a')?.click());
  });
  // A result on the same page loads nothing.
  results.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLAnchorElement)) return;
    input.value = '';
    results.replaceChildren();
  });
}

/** Reads the pages of the navigation, split at their headings. */
async function fetchSections() {
  const links = Array.from(document.querySelectorAll<HTMLAnchorElement>('header nav a'));
  const pages = links.map(async ({ pathname, textContent: page }) => {
    const response = await fetch(`${pathname}.md`);
    if (!response.ok) throw new Error(`${pathname}.md is ${response.status}`);
    // A comment in code is no heading.
    const text = (await response.text()).replaceAll(/^```[^]*?^```/gm, (code) =>
      code.replaceAll('\n#', '\n #'),
    );
    return text.split(/^(?=#{1,3} )/m).map((section) => {
      const [, level, heading = '', content = ''] = /^(#+) (.*)\n([^]*)$/.exec(section) ?? [];
      return {
        page,
        title: plain(heading),
        path: level === '#' ? pathname : `${pathname}#${headingId(heading)}`,
        text: plain(content),
      };
    });
  });
  return (await Promise.all(pages)).flat();
}

/** Markdown without its marks, and links without their addresses. */
const plain = (markdown: string) => markdown.replaceAll(/\]\([^)\s]*\)|[`*[\]]/g, '').replaceAll(/\s+/g, ' ');

type Section = Awaited<ReturnType<typeof fetchSections>>[number];

/** Sections with all words; those with more of them in the title come first. */
function findSections(sections: readonly Section[], words: readonly string[]): Section[] {
  const inTitle = ({ title }: Section) => words.filter((word) => title.toLowerCase().includes(word)).length;
  return sections
    .filter(({ title, text }) => {
      const searched = `${title} ${text}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    })
    .toSorted((one, other) => inTitle(other) - inTitle(one));
}
