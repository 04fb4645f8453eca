import { element } from './elements.ts';
import { keptText } from './kept-text.ts';

const kept = keptText(() => localStorage, 'sample-language');

/** Shows all samples in one language, which is chosen beside any of them and kept for the next visit. */
export function connectSampleLanguage() {
  const samples = Array.from(document.querySelectorAll('[data-language]'), (sample) => ({
    sample,
    language: sample.getAttribute('data-language') ?? '',
  }));
  const languages = new Set(samples.map(({ language }) => language));
  const fields = Array.from(document.querySelectorAll('[data-languages]'), (group) => {
    const label = `Language of the sample: ${group.getAttribute('data-languages')}`;
    const options = Array.from(languages, (language) => element('option', {}, language));
    const field = element('select', { 'aria-label': label }, ...options);
    field.addEventListener('change', () => choose(field.value));
    group.prepend(field);
    return field;
  });
  const choose = (language: string) => {
    kept.set(language);
    for (const field of fields) field.value = language;
    for (const { sample, language: own } of samples) sample.toggleAttribute('hidden', own !== language);
  };
  const [first = ''] = languages;
  choose(languages.has(kept.get()) ? kept.get() : first);
}
