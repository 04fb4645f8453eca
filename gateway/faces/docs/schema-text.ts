import type { Schema } from '../../upstream/api-document.ts';
import { headingId } from './markdown.ts';

/** Item of a list in Markdown about a parameter, a header, a property or a status. @param text may have several lines */
export function fieldItem(name: string, notes: readonly string[], text = ''): string {
  const about = text.trim().replaceAll('\n', '\n  ');
  return `- \`${name}\` (${notes.filter((note) => note !== '').join(', ')})${about === '' ? '' : `: ${about}`}`;
}

/** Type of a value with its limits, in Markdown; the name of a schema is a link. */
export function describeType(schema: Schema): string {
  const { $ref: reference, items, anyOf, allOf, format } = schema;
  if (reference !== undefined) {
    const name = reference.split('/').at(-1) ?? '';
    return `[${name}](#${headingId(name)})`;
  }
  if (items !== undefined) return `array of ${describeType(items)}${limitsOf(schema)}`;
  if (schema.enum !== undefined) return `one of ${schema.enum.map((value) => `\`${value}\``).join(' ')}`;
  if (anyOf !== undefined) return anyOf.map(describeType).join(' or ');
  if (allOf !== undefined) return allOf.map(describeType).join(' with ');
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return `${types}${format === undefined ? '' : ` (${format})`}${limitsOf(schema)}`;
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
