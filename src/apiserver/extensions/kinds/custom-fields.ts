// The selectable fields of a custom kind.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { formatValue } from '#machinery/text/go-format.ts';
import { SelectableFields } from '#apiserver/registry/selectable-fields.ts';
import { evaluateJsonPath, parseJsonPath, type PathNode } from '../json-path/index.ts';

/** Returns the name of the field in selectors: 'spec.color' for '.spec.color'. */
export function nameOfField(jsonPath: string): string {
  return jsonPath.startsWith('.') ? jsonPath.slice(1) : jsonPath;
}

/**
 * Returns the fields. `jsonPaths`: simple paths with one value at most, which the definition's
 * validation ensures.
 */
export function customFields(jsonPaths: readonly string[], namespaced: boolean): SelectableFields {
  if (jsonPaths.length === 0) return namespaced ? NAMESPACED : CLUSTER_SCOPED;
  const fields = jsonPaths.map((jsonPath) => {
    let path: readonly PathNode[] | undefined;
    const value = (object: KubeObject): string => {
      path ??= parseJsonPath(jsonPath);
      const [found] = evaluateJsonPath(path, object);
      return found === undefined || found === null ? '' : formatValue(found);
    };
    return [nameOfField(jsonPath), { value, indexed: true }] as const;
  });
  return new SelectableFields(fields, { namespaced, unsupported });
}

const unsupported = (label: string): string => `field label not supported: ${label}`;
/** Shared by all kinds without declared fields. */
const NAMESPACED = new SelectableFields([], { namespaced: true, unsupported });
const CLUSTER_SCOPED = new SelectableFields([], { namespaced: false, unsupported });
