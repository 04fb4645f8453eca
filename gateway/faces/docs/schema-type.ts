import type { Schema } from '../../upstream/api-document.ts';
import { html, type Html } from './html.ts';
import { renderMarkdown } from './markdown.ts';

/** Type of a value with its limits, in words; the name of a schema is a link. */
export function describeType(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.items !== undefined) return html`array of ${describeType(schema.items)}${limitsOf(schema)}`;
  if (schema.enum !== undefined)
    return html`one of ${schema.enum.map((value) => html`<code>${value}</code> `)}`;
  if (schema.anyOf !== undefined) return joined(schema.anyOf, ' or ');
  if (schema.allOf !== undefined) return joined(schema.allOf, ' with ');
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return html`${types}${schema.format === undefined ? undefined : ` (${schema.format})`}${limitsOf(schema)}`;
}

function joined(parts: readonly Schema[], word: string): Html {
  return html`${parts.map((part, index) => html`${index === 0 ? '' : word}${describeType(part)}`)}`;
}

/** Every operation has the responses and headers of the gateway, with the same texts. */
const rendered = new Map<string, Html>();

export function descriptionOf({ description }: { description?: string | undefined }): Html | undefined {
  if (description === undefined) return undefined;
  const body = rendered.get(description) ?? renderMarkdown(description).body;
  rendered.set(description, body);
  return body;
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, maxItems, default: byDefault, format } = schema;
  return [
    // The range of an int64 says nothing more than its format, and numbers that large are not exact here.
    ...(format === 'int64' ? [] : [range(minimum, maximum, '')]),
    range(minLength, maxLength, ' characters'),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(byDefault === undefined ? [] : [`default ${byDefault}`]),
  ]
    .filter((text) => text !== '')
    .map((text) => `, ${text}`)
    .join('');
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`;
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`;
}
