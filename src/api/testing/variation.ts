// Objects for table tests: a valid one, and for each row a change to it (a JSON merge patch).

import { applyMergePatch } from '#machinery/patch/merge-patch.ts';
import { decodeObject } from '../machinery/codec/index.ts';
import { newDefaultScheme } from '../default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';

const scheme = newDefaultScheme();

/**
 * Returns a function that returns the object with a change, decoded and with its defaults, as the
 * API server would accept it: `variation('storage/v1.CSIDriver', good)(change)`. Throws for unknown
 * fields, which would test nothing.
 */
export function variation<T extends object>(key: string, good: object): (change?: object) => T {
  const message = allSchemas.message(key);
  return (change = {}) => {
    const { object, unknownFields } = decodeObject<T>(message, applyMergePatch(good, change));
    if (unknownFields.length > 0)
      throw new Error(`unknown fields in the test's change: ${unknownFields.join(', ')}`);
    if (message.gvk !== undefined)
      scheme.codecOf(message.gvk)?.applyDefaults(object as Record<string, unknown>);
    return object;
  };
}

/** Returns `[of(0), of(1), …]`. */
export const range = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));

/** Returns rows for test.each, each with a short name for '%s': the start of its first cell. */
export function rows<T extends readonly [unknown, ...unknown[]]>(
  list: readonly T[],
): readonly (readonly [name: string, ...T])[] {
  return list.map(
    (row) =>
      [
        (typeof row[0] === 'string' ? row[0] : JSON.stringify(row[0])).slice(0, 120),
        ...row,
      ] as const,
  );
}

/** Kubernetes' messages for invalid names of several forms. */
export const NAME_MESSAGES = {
  label:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
    "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  subdomain:
    'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
    "'-' or '.', and must start and end with an alphanumeric character (e.g. " +
    "'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  namePart:
    "name part must consist of alphanumeric characters, '-', '_' or '.', " +
    "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
    " or '123-abc', regex used for validation is " +
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  labelValue:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', " +
    "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', " +
    " or 'my_value',  or '12345', regex used for validation is " +
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  identifier:
    "a valid C identifier must start with alphabetic character or '_', " +
    "followed by a string of alphanumeric characters or '_' (e.g. 'my_name', " +
    " or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
} as const;
