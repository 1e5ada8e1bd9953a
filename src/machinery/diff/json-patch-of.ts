// Differences as a JSON patch (RFC 6902).

import type { JsonPatchOperation } from '../patch/json-patch.ts';
import { differences } from './differences.ts';

/** Returns a patch that changes `before` to `after`. Both are JSON values without undefined. */
export function jsonPatchOf(before: unknown, after: unknown): readonly JsonPatchOperation[] {
  return differences(before, after).map(({ path, from, to }): JsonPatchOperation => {
    const pointer = path.map((key) => `/${escape(String(key))}`).join('');
    if (to === undefined) return { op: 'remove', path: pointer };
    return { op: from === undefined ? 'add' : 'replace', path: pointer, value: to };
  });
}

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
