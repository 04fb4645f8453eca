import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** @returns a function that says what is wrong with a value; undefined if it matches a schema of the description */
export function createMismatch(components: object): (schema: object, value: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat('date-time', (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(text));
  ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
  for (const format of ['int32', 'int64', 'uri']) ajv.addFormat(format, true);
  ajv.addSchema({ $id: 'openapi', components });
  const validators = new Map<object, ValidateFunction>();
  return function mismatch(schema, value) {
    const validate =
      validators.get(schema) ??
      ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object);
    validators.set(schema, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}
