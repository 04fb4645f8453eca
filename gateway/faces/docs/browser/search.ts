import { element } from './elements.ts';

/** As in ../search-index.ts. */
interface SearchedSection {
  page: string;
  title: string;
  path: string;
  text: string;
}

const maxResults = 8;
const excerptLength = 120;

/** Searches all pages while somebody types. What they say is fetched with the first letter. */
export function connectSearch() {
  const form = document.querySelector('form[data-search]');
  const input = form?.querySelector('input');
  const results = form?.querySelector('[data-results]');
  if (!(form instanceof HTMLFormElement) || !input || !results) return;
  let sections: Promise<SearchedSection[]> | undefined;
  form.hidden = false;

  const show = async () => {
    const words = wordsOf(input.value);
    if (words.length === 0) return results.replaceChildren();
    sections ??= fetchSections();
    const found = await sections.catch(() => undefined);
    // Somebody may have typed on.
    if (words.join(' ') !== wordsOf(input.value).join(' ')) return;
    if (found === undefined) {
      sections = undefined;
      return results.replaceChildren(element('p', {}, 'The search is not available. Try again later.'));
    }
    const matches = findSections(found, words);
    const summary = matches.length === 0 ? 'Nothing found' : `${matches.length} found`;
    const links = matches.slice(0, maxResults).map((section) => resultOf(section, words));
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

async function fetchSections() {
  const response = await fetch('/docs/search.json');
  if (!response.ok) throw new Error(`search.json is ${response.status}`);
  const sections: SearchedSection[] = await response.json();
  return sections;
}

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Sections with all words; those with more of them in the title come first. */
function findSections(sections: readonly SearchedSection[], words: readonly string[]): SearchedSection[] {
  const inTitle = ({ title }: SearchedSection) =>
    words.filter((word) => title.toLowerCase().includes(word)).length;
  return sections
    .filter(({ title, text }) => {
      const searched = `${title} ${text}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    })
    .toSorted((one, other) => inTitle(other) - inTitle(one));
}

function resultOf({ page, title, path, text }: SearchedSection, [word = '']: readonly string[]) {
  const start = Math.max(0, text.toLowerCase().indexOf(word) - excerptLength / 3);
  const excerpt = text.slice(start, start + excerptLength);
  return element(
    'li',
    {},
    element('a', { href: path }, title),
    ` ${page}`,
    element('p', {}, `${start > 0 ? '…' : ''}${excerpt}…`),
  );
}
