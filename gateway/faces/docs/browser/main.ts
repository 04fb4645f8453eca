/** Origin in the samples of the served pages. */
const placeholder = 'http://localhost:8080';

/** Screen readers announce what changes in it: the label of a button is replaced by its aria-label. */
const announcement = element('p', { role: 'status', class: 'announcement' });

/** Puts the page's own origin into all samples, and a button to copy beside each. */
function prepareSamples() {
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
function connectSampleLanguage() {
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
function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Shows the field for the key, and the forms that send requests with it. */
function connectTryIt() {
  const keyForm = document.querySelector<HTMLFormElement>('[data-key]');
  const key = keyForm?.querySelector('input');
  if (!keyForm || !key) return;
  keyForm.addEventListener('submit', (event) => event.preventDefault());
  for (const part of document.querySelectorAll<HTMLElement>('[data-key], [data-try]')) part.hidden = false;
  for (const section of document.querySelectorAll('[data-try]')) {
    const form = section.querySelector('form');
    const status = section.querySelector('[data-status]');
    const result = section.querySelector('[data-result]');
    form?.addEventListener('submit', (event) => {
      event.preventDefault();
      result?.replaceChildren();
      const secret = key.value.trim();
      if (secret === '') {
        status?.replaceChildren('Enter an API key first, at the top of the page.');
        key.focus();
        return;
      }
      status?.replaceChildren('Sending…');
      void send(form, secret).then((shown) => {
        status?.replaceChildren(...shown.status);
        result?.replaceChildren(...shown.details);
      });
    });
  }
}

/** Sends the request of a form to this origin. @returns what the page shows of the response, or why it was not sent */
async function send(form: HTMLFormElement, key: string) {
  try {
    const response = await fetch(requestOf(form, key));
    const body = await response.text();
    const headers = Array.from(response.headers, ([name, value]) => `${name}: ${value}\n`).join('');
    return {
      status: [
        element('strong', {}, `${response.status} ${response.statusText}`),
        ...(response.ok ? [] : [' ', errorLink(body)]),
      ],
      details: [
        block('Body of the response', indented(body), { 'data-body': '' }),
        element(
          'details',
          {},
          element('summary', {}, 'Headers of the response'),
          block('Headers of the response', headers),
        ),
      ],
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { status: [`The request could not be sent: ${reason}.`], details: [] };
  }
}

declare global {
  interface JSON {
    parse(text: string, reviver: typeof exact): unknown;
    rawJSON(text: string): unknown;
  }
}

/** Numbers as they came: those of 64 bits are none of JavaScript's. */
function exact(_name: string, value: unknown, { source = '' }: { source?: string }): unknown {
  return typeof value === 'number' ? JSON.rawJSON(source) : value;
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body, exact), undefined, 2);
  } catch {
    return body;
  }
}

function requestOf(form: HTMLFormElement, key: string): Request {
  const { method = 'GET', path = '' } = form.dataset;
  const url = new URL(path, location.origin);
  const headers = new Headers({ Authorization: `Bearer ${key}` });
  for (const field of form.querySelectorAll<HTMLInputElement>('[data-in]')) {
    const { in: place, name = '' } = field.dataset;
    const value = field.value.trim();
    if (place === 'path')
      url.pathname = url.pathname.replace(encodeURI(`{${name}}`), encodeURIComponent(value));
    else if (value !== '' && place === 'query') url.searchParams.set(name, value);
    else if (value !== '' && place === 'header') headers.set(name, value);
  }
  const body = form.querySelector('textarea')?.value ?? null;
  if (body !== null) headers.set('Content-Type', 'application/json');
  return new Request(url, {
    method,
    headers,
    body,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
}

/** Link to what the guide says about an error; nothing if the body is no Error. */
function errorLink(body: string) {
  const [, code] = /"code": *"([a-z_]+)"/.exec(body) ?? [];
  return code === undefined ? '' : element('a', { href: `/docs#${code}` }, `What to do about ${code}`);
}

const block = (label: string, text: string, attributes: Record<string, string> = {}) =>
  element('pre', { tabindex: '0', 'aria-label': label, ...attributes }, element('code', {}, text));

// Each does nothing on a page without what it is for.
connectSampleLanguage();
prepareSamples();
connectTryIt();
