/** Origin in the samples of the served pages. */
const placeholder = 'http://localhost:8080';

/** Screen readers announce what changes in it: the label of a button is replaced by its aria-label. */
const announcement = element('p', { role: 'status', class: 'announcement' });

/** Puts the page's own origin into all samples, and a button to copy beside each. */
export function prepareSamples() {
  document.body.append(announcement);
  for (const code of document.querySelectorAll('pre > code')) {
    code.textContent = (code.textContent ?? '').replaceAll(placeholder, location.origin);
    // Browsers have a clipboard on secure origins only.
    if (navigator.clipboard !== undefined) code.parentElement?.before(copyButton(code));
  }
}

function copyButton(code: Element) {
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': 'Copy this code' }, 'Copy');
  const say = (label: string) => {
    button.textContent = label;
    announcement.textContent = label;
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(code.textContent ?? '').then(
      () => say('Copied'),
      () => say('Not allowed'),
    );
  });
  return button;
}

/** Shows all samples in one language, which is chosen beside any of them. */
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
    for (const field of fields) field.value = language;
    for (const { sample, language: own } of samples) sample.toggleAttribute('hidden', own !== language);
  };
  const [first = ''] = languages;
  choose(first);
}

/** Builds an element. Texts stay texts: nothing is read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
