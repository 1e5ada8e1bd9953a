// Pages of lists. A token is the id of the last entry of the page before, so entries that come and go
// between two pages change no other.

import { RpcError } from '#machinery/grpc/rpc-error.ts';

export interface Page<T> {
  readonly entries: readonly T[];
  readonly nextToken: string;
}

/** Returns a page of entries that are sorted by id. `maxEntries`: 0 for all. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  maxEntries: number,
  startingToken: string,
): Page<T> {
  if (maxEntries < 0) throw new RpcError('INVALID_ARGUMENT', 'max_entries is negative');
  if (startingToken !== '' && !/^after-[a-z]+-[0-9a-f]+$/.test(startingToken))
    throw new RpcError('ABORTED', 'starting_token is not one of this driver');
  const last = startingToken.replace(/^after-/, '');
  const rest = startingToken === '' ? all : all.filter(({ id }) => id > last);
  if (maxEntries === 0 || rest.length <= maxEntries) return { entries: rest, nextToken: '' };
  const entries = rest.slice(0, maxEntries);
  return { entries, nextToken: `after-${entries.at(-1)!.id}` };
}
