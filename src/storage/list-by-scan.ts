// Lists the keys that have one index value by reading every key under the prefix. Used for engines
// without indexes, and for revisions older than an index. Tests compare indexes with this plain
// version.

import type {
  IndexDefinition,
  IndexListOptions,
  IndexListResult,
  KeyValue,
  Storage,
} from './interface.ts';

const FIRST_PAGE = 500;
const MAX_PAGE = 10_000;

/** Returns a page of the keys whose index value is `value`. Throws the errors of `list`. */
export async function listByScan(
  list: Storage['list'],
  { prefix, valueOf }: IndexDefinition,
  value: string,
  options: IndexListOptions = {},
): Promise<IndexListResult> {
  const limit = options.limit || Number.POSITIVE_INFINITY;
  const items: KeyValue[] = [];
  let { startAfter } = options;
  let revision = options.revision || 0;
  for (let pageSize = FIRST_PAGE; ; pageSize = Math.min(2 * pageSize, MAX_PAGE)) {
    const page = await list(options.within ?? prefix, { revision, startAfter, limit: pageSize });
    revision = page.revision;
    for (const kv of page.items) {
      if (!has(kv, value, valueOf)) continue;
      if (items.length === limit) return { items, revision, more: true };
      items.push(kv);
    }
    if (page.remaining === 0) return { items, revision, more: false };
    startAfter = page.items.at(-1)?.key;
  }
}

function has(kv: KeyValue, value: string, valueOf: IndexDefinition['valueOf']): boolean {
  try {
    return valueOf(kv) === value;
  } catch {
    // A key whose value cannot be read is listed under every value (see IndexDefinition).
    return true;
  }
}
