// Lists as an index does, without one: every key under the prefix is read. For engines that have no index, and for revisions that an
// index does not reach back to. It is also the plain version that tests compare indexes with.

import type {
  IndexDefinition,
  IndexListOptions,
  IndexListResult,
  KeyValue,
  Storage,
} from './interface.ts';

const FIRST_PAGE = 500;
const MAX_PAGE = 10_000;

/** Throws what `list` throws. */
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
    // See IndexDefinition.
    return true;
  }
}
