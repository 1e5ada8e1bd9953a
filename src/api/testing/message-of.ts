// The descriptors of kinds by apiVersion and kind, for tests and fuzzers.

import { allSchemas } from '../all-schemas.ts';
import type { MessageDescriptor } from '../machinery/descriptor.ts';
import { parseApiVersion } from '../machinery/scheme.ts';

/**
 * Returns the descriptor of the kind ('apps/v1', 'Deployment'); undefined if no schema has it.
 * Legacy discovery has no apiVersion.
 */
export function messageOf(apiVersion: string, kind: string): MessageDescriptor | undefined {
  const groupVersion = parseApiVersion(apiVersion === '' ? 'v1' : apiVersion);
  return groupVersion === undefined
    ? undefined
    : allSchemas.lookup({ ...groupVersion, kind })?.message;
}
