// Paths of rules (`fieldPath`): the place below the value at which a rule reports its errors. A
// path is a JSON path of fields and map entries, `.a.b` or `['x-y']`, and must exist in the schema.

import * as field from '#machinery/validation/field.ts';
import type { FieldPath } from '#machinery/validation/field.ts';
import { isSchema } from '../structural-schema.ts';
import type { JSONSchemaProps } from '../json-schema-props.ts';

/**
 * Returns the path in the form of field errors. Undefined: it is malformed, or the schema has no
 * such field.
 */
export function parseFieldPath(text: string, source: JSONSchemaProps): FieldPath | undefined {
  const tokens = tokensOf(text);
  let at = field.path('');
  let schema: JSONSchemaProps | undefined = source;
  for (let next = 0; next < tokens.length;) {
    let name: string | undefined;
    if (tokens[next] === '.') {
      name = tokens[next + 1];
      next += 2;
    } else if (tokens[next] === '[') {
      if (tokens[next + 2] !== ']') return undefined;
      name = unquote(tokens[next + 1]);
      next += 3;
    }
    if (name === undefined || schema === undefined) return undefined;
    if (Object.keys(schema.properties ?? {}).length > 0) {
      if (!Object.hasOwn(schema.properties ?? {}, name)) return undefined;
      at = at.child(name);
      schema = schema.properties?.[name];
    } else if ((schema.additionalProperties ?? undefined) !== undefined) {
      at = at.key(name);
      schema = isSchema(schema.additionalProperties) ? schema.additionalProperties : undefined;
    } else return undefined;
  }
  return at;
}

/**
 * Splits a path into '.', '[', ']' and the texts between them. A text that starts with a quote ends
 * at the next quote.
 */
function tokensOf(text: string): string[] {
  return text.match(/[.[\]]|'(?:[^']|(?<=\\)')*(?<!\\)'|'[^]*$|[^.[\]]+/g) ?? [];
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

/** Returns the text of a quoted token. Undefined: it is not quoted, or has an unknown escape. */
function unquote(token: string | undefined): string | undefined {
  if (token === undefined || token.length < 2 || !token.startsWith("'") || !token.endsWith("'"))
    return undefined;
  let isValid = true;
  const text = token.slice(1, -1).replaceAll(/\\./g, (escape) => {
    const character = ESCAPES[escape[1]!];
    isValid &&= character !== undefined;
    return character ?? '';
  });
  return isValid ? text : undefined;
}
