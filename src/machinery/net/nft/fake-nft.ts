// Replaces nft in tests: records transactions and returns prepared results.

import type { NftError } from './error.ts';
import type { Nft, NftTable } from './nft.ts';

export class FakeNft implements Nft {
  /** The applied transactions, in order. */
  readonly runs: string[] = [];
  /** Results of `list`, by `FAMILY NAME`. */
  readonly listings = new Map<string, string>();
  /** Calls of `list`, as `FAMILY NAME`. */
  readonly lists: string[] = [];
  present: readonly NftTable[] = [];
  /** Errors with which the next transactions are rejected, in order. */
  readonly failures: NftError[] = [];
  obstacle: NftError | undefined;

  run(commands: string): Promise<void> {
    const failure = this.failures.shift();
    if (failure !== undefined) return Promise.reject(failure);
    this.runs.push(commands);
    return Promise.resolve();
  }

  check(): Promise<NftError | undefined> {
    return Promise.resolve(this.obstacle);
  }

  list(family: string, table: string): Promise<string | undefined> {
    this.lists.push(`${family} ${table}`);
    return Promise.resolve(this.listings.get(`${family} ${table}`));
  }

  tables(): Promise<readonly NftTable[]> {
    return Promise.resolve(this.present);
  }
}
