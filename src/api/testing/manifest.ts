// Objects for tests, as YAML: decoded and with their defaults, as the API server would accept them.

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { decodeObject, parseYaml } from '../machinery/codec/index.ts';
import { newDefaultScheme } from '../default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';

const scheme = newDefaultScheme();

/**
 * Decodes a manifest. `key`: the type, such as core/v1.Pod. Throws for unknown fields, which would
 * test nothing.
 */
export function decodeManifest<T>(key: string, yaml: string): T {
  const { object, unknownFields } = decodeObject(allSchemas.message(key), parseYaml(yaml));
  if (unknownFields.length > 0)
    throw new Error(`unknown fields in the test's manifest: ${unknownFields.join(', ')}`);
  return object as T;
}

/** Decodes a manifest and sets its defaults. */
export function manifest<T extends object>(key: string, yaml: string): T {
  const draft = decodeManifest<T>(key, yaml);
  const { gvk } = allSchemas.message(key);
  if (gvk !== undefined) scheme.codecOf(gvk)?.applyDefaults(draft as Record<string, unknown>);
  return draft;
}

export const indent = (yaml: string): string => yaml.replace(/^/gm, '  ');

export const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);
