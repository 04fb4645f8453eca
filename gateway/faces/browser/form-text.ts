/** The text of each field of a form, trimmed; empty for an unknown one and for a box that is not ticked. */
export type FormTexts = (name: string) => string;

export function textsOf(form: HTMLFormElement): FormTexts {
  const values = new FormData(form);
  return (name) => {
    const value = values.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
}

/** What is in the form of an event. The browser does not send it. */
export function formTexts(event: Event): FormTexts {
  event.preventDefault();
  const form = event.currentTarget;
  return form instanceof HTMLFormElement ? textsOf(form) : () => '';
}

/** A listener that passes on what was typed or chosen in a field. */
export const withField =
  (use: (value: string) => unknown) =>
  ({ target }: Event) => {
    if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement) use(target.value);
  };
